# What is installed and where; archives of the sources and Debian packages.  The Makefile includes this file.
LIBDIR     ?= $(PREFIX)/lib
BINDIR     ?= $(PREFIX)/bin
INCLUDEDIR ?= $(PREFIX)/include
DATADIR    ?= $(PREFIX)/share
MANDIR     ?= $(DATADIR)/man
PYTHONDIR  ?= $(DATADIR)/dispatchd/python
SYSTEMUNITDIR ?= $(PREFIX)/lib/systemd/system
USERUNITDIR   ?= $(PREFIX)/lib/systemd/user
SYSCONFDIR ?= $(if $(filter /usr,$(PREFIX)),/etc,$(PREFIX)/etc)
BASHDIR    ?= $(DATADIR)/bash-completion/completions
ZSHDIR     ?= $(DATADIR)/zsh/site-functions

# The time of the release, for archives, pages and packages: the same sources give the same bytes.
SOURCE_DATE_EPOCH ?= $(shell date -ud "$$(sed -n '/^ -- /{s/.*>  //p;q}' debian/changelog)" +%s)
RELEASE_DATE = $(shell date -ud @$(SOURCE_DATE_EPOCH) +%Y-%m-%d)

# -- files that are made for an installation, in $(SHARE) ------------------------------------------
SHARE := $(BUILD)/share
PAGES := $(patsubst docs/man/%.in,$(SHARE)/man/%,$(wildcard docs/man/*.in))
SHELL_SCRIPTS := $(SHARE)/bash/dispatchctl $(SHARE)/zsh/_dispatchctl
PC_FILES := $(patsubst %.pc.in,$(SHARE)/pkgconfig/%.pc,$(notdir $(wildcard libdispatch/*.pc.in clients/c/*.pc.in)))
UNITS := $(patsubst daemon/units/%.in,$(SHARE)/units/%,$(wildcard daemon/units/*/*.in))

pages: $(PAGES) ## write the manual pages, in build/share/man
$(SHARE)/man/%: docs/man/%.in docs/man/pages.py debian/changelog $(BUILD)/dispatchd $(BUILD)/dispatchctl
	$(Q)mkdir -p $(@D)
	$(Q)$(PYTHON) docs/man/pages.py $< $(VERSION) $(RELEASE_DATE) $(BUILD) >$@.tmp && mv $@.tmp $@
$(SHARE)/bash/dispatchctl $(SHARE)/zsh/_dispatchctl: $(SHARE)/%: $(BUILD)/dispatchctl
	$(Q)mkdir -p $(@D)
	$(Q)$(BUILD)/dispatchctl completion $(firstword $(subst /, ,$*)) >$@.tmp && mv $@.tmp $@
# These contain folders of the command line, so they are written each time.  A .pc file names others from where it lies:
# an installed tree may be moved.
$(SHARE)/pkgconfig/%.pc: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)sed 's,@VERSION@,$(VERSION),; s,@TO_LIBDIR@,$(call way,$(LIBDIR)),; s,@TO_INCLUDEDIR@,$(call way,$(INCLUDEDIR)),' $(wildcard libdispatch/$*.pc.in clients/c/$*.pc.in) >$@
way = $(shell realpath -m --relative-to='$(LIBDIR)/pkgconfig' '$(1)')
$(SHARE)/units/%: daemon/units/%.in FORCE
	$(Q)mkdir -p $(@D)
	$(Q)sed 's,@BINDIR@,$(BINDIR),; s,@SYSCONFDIR@,$(SYSCONFDIR),' $< >$@

# -- install ------------------------------------------------------------------------------------
# MODE:FOLDER:FILE.  The daemon lies beside its library and its plugins, where it looks for both; BINDIR has a link.
put = $(foreach f,$(3),$(1):$(2):$(f))
INSTALLED = \
    $(call put,755,$(LIBDIR)/dispatchd,$(BUILD)/dispatchd) \
    $(call put,644,$(LIBDIR)/dispatchd,$(BUILD)/libdispatchd.so) \
    $(call put,644,$(LIBDIR)/dispatchd/plugins,$(PLUGINS)) \
    $(call put,755,$(BINDIR),$(BUILD)/dispatchctl) \
    $(call put,644,$(INCLUDEDIR)/dispatchd,$(wildcard libdispatch/include/dispatchd/*.h) $(BUILD)/gen/dispatchd/aten.h) \
    $(call put,644,$(LIBDIR),$(CLIENT_A) $(CLIENT_SO)) \
    $(call put,644,$(INCLUDEDIR),clients/c/dispatchd-client.h) \
    $(call put,644,$(PYTHONDIR)/dispatchd,$(wildcard clients/python/dispatchd/*.py clients/python/dispatchd/*.pyi) clients/python/dispatchd/py.typed) \
    $(call put,644,$(DATADIR)/dispatchd/samples,proto/samples/calls.jsonl) \
    $(call put,644,$(DATADIR)/dispatchd/templates,$(wildcard clients/cli/templates/*)) \
    $(call put,644,$(LIBDIR)/pkgconfig,$(PC_FILES)) \
    $(foreach page,$(PAGES),$(call put,644,$(MANDIR)/man$(subst .,,$(suffix $(page))),$(page))) \
    $(call put,644,$(BASHDIR),$(SHARE)/bash/dispatchctl) \
    $(call put,644,$(ZSHDIR),$(SHARE)/zsh/_dispatchctl) \
    $(call put,644,$(SYSTEMUNITDIR),$(filter $(SHARE)/units/system/%,$(UNITS))) \
    $(call put,644,$(USERUNITDIR),$(filter $(SHARE)/units/user/%,$(UNITS)))
# LINK:TARGET
LINKS = $(BINDIR)/dispatchd:$(LIBDIR)/dispatchd/dispatchd \
    $(LIBDIR)/libdispatchd-client.so:$(LIBDIR)/$(notdir $(CLIENT_SO))
# The config file of the system's daemon.  A file that is there is not replaced, and only removed if nobody changed it.
CONFIG_FILE = $(DESTDIR)$(SYSCONFDIR)/dispatchd/dispatchd.conf
each_row = for row in $(INSTALLED); do file=$${row\#\#*:}; rest=$${row%:*}; folder=$(DESTDIR)$${rest\#*:}

install: binaries $(PAGES) $(SHELL_SCRIPTS) $(PC_FILES) $(UNITS) ## copy to PREFIX, below DESTDIR
	$(Q)$(each_row); install -D -m $${row%%:*} -t "$$folder" "$$file" || exit 1; done
	$(Q)for row in $(LINKS); do link=$${row%%:*}; ln -sf "$$(realpath -ms --relative-to="$${link%/*}" "$${row#*:}")" "$(DESTDIR)$$link" || exit 1; done
	$(Q)[ -e '$(CONFIG_FILE)' ] || install -D -m 644 daemon/dispatchd.conf '$(CONFIG_FILE)'
uninstall: ## remove what install copied, and folders that are then empty
	$(Q)for row in $(LINKS); do rm -f "$(DESTDIR)$${row%%:*}"; done
	$(Q)$(each_row); rm -f "$$folder/$${file##*/}"; done
	$(Q)! cmp -s daemon/dispatchd.conf '$(CONFIG_FILE)' || rm -f '$(CONFIG_FILE)'
	$(Q)cd '$(DESTDIR)/' && for folder in '$(SYSCONFDIR)/dispatchd' $(sort $(foreach row,$(INSTALLED),$(word 2,$(subst :, ,$(row))))); do folder=$${folder#/}; [ ! -d "$$folder" ] || rmdir -p --ignore-fail-on-non-empty "$$folder"; done

# -- archives and packages ----------------------------------------------------------------------
RELEASE := dispatchd-$(VERSION)
DIST    := $(BUILD)/dist
# With git, the files that it knows and new ones; an unpacked archive has no other files than its own.
SOURCES = $$({ [ -e .git ] && git ls-files -co --exclude-standard; } 2>/dev/null || find . -type f -not -path './build*' -not -path '*/__pycache__/*' -not -path './.git/*')

dist: ## write the sources as an archive, build/dist/dispatchd-VERSION.tar.gz
	$(Q)mkdir -p $(DIST)
	$(Q)for f in $(SOURCES); do [ ! -f "$$f" ] || printf '%s\n' "$${f#./}"; done | LC_ALL=C sort -u >$(DIST)/files
	$(Q)tar -c --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw,a-s --mtime=@$(SOURCE_DATE_EPOCH) --format=ustar --transform 's,^,$(RELEASE)/,S' -T $(DIST)/files -f $(DIST)/$(RELEASE).tar
	$(Q)gzip -9nf $(DIST)/$(RELEASE).tar
	@echo $(DIST)/$(RELEASE).tar.gz

DEB := $(BUILD)/deb
deb: dist ## build the Debian packages, in build/deb (needs debhelper and dh-python)
	$(Q)sh tests/lib/deps.sh debhelper dh-python dpkg-dev
	$(Q)rm -rf $(DEB) && mkdir -p $(DEB)/source && tar -xf $(DIST)/$(RELEASE).tar.gz -C $(DEB)/source --strip-components=1
	$(Q)cd $(DEB)/source && env -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage -us -uc -b $(DEB_FLAGS)
	@ls -1 $(DEB)/*.deb
package-check: ## install, use, upgrade and purge the packages in a new Debian 12 (needs root, debootstrap, a mirror)
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) sh tests/run.sh tests/package/test_package.py
