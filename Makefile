# dispatchd.  `make help` lists the targets; a new plugin is a new folder under plugins/.
comma    := ,
SANITIZE ?=
LEVELS   ?=
CONFIG   ?= $(subst $(comma),-,$(SANITIZE))$(if $(LEVELS),$(if $(SANITIZE),-)levels-$(LEVELS))
BUILD    ?= build$(addprefix -,$(CONFIG))
# one name, however it is given: commands that differ compile everything again
override BUILD := $(patsubst $(CURDIR)/%,%,$(BUILD))
V        ?= 0
Q        := $(if $(filter 1,$(V)),,@)
# Without -j, one job for each core.
ifeq ($(findstring -j,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif
PREFIX   ?= /usr/local
VERSION  := $(shell sed -n 's/^.define DISPATCHD_VERSION "\(.*\)"/\1/p' daemon/daemon.h)
CC       ?= gcc
PYTHON   := /usr/bin/python3

DEPS := gcc g++ libc6-dev make pkg-config libuv1-dev libcjson-dev libopenblas-dev check python3 python3-yaml

# The vector levels of the target: what lies in a folder levels/ is compiled once for each.  LEVELS names one of
# them alone; native is the highest one that this machine has.
ALL_LEVELS := v1 $(if $(findstring x86_64,$(shell $(CC) -dumpmachine)),v3 v4)
MARCH_v3   := -march=x86-64-v3
MARCH_v4   := -march=x86-64-v4
ifneq ($(LEVELS),)
HAS        := $(if $(filter native,$(LEVELS)),$(shell $(CC) -march=native -dM -E -xc /dev/null))
ONE_LEVEL  := $(if $(HAS),$(lastword v1 $(if $(findstring __AVX2__,$(HAS)),v3) $(if $(findstring __AVX512VL__,$(HAS)),v4)),$(LEVELS))
$(if $(filter $(ONE_LEVEL),$(ALL_LEVELS)),,$(error LEVELS is '$(LEVELS)'; it can be native or one of: $(ALL_LEVELS)))
ALL_LEVELS := $(ONE_LEVEL)
$(if $(filter-out binaries demo install uninstall help fuzzers,$(or $(MAKECMDGOALS),all)),$(error with LEVELS there are binaries, demo, install, uninstall and fuzzers; tests compare all levels))
endif

# release unless CONFIG says debug or coverage, or SANITIZE is set
OPT_debug    := -O0 -g3
OPT_coverage := -O0 -g --coverage
OPT          := $(or $(OPT_$(CONFIG)),-O2 -g)
CFLAGS   ?=
LDFLAGS  ?=
WARN     := -Wall -Wextra -Wshadow -Wstrict-prototypes -Werror
ISA      := $(if $(ONE_LEVEL),-DDP_ISA_ONLY=$(ONE_LEVEL))
SAN      := $(SANITIZE:%=-fsanitize=%) $(if $(SANITIZE),-fno-sanitize-recover=all)
BASE     := -std=gnu11 $(WARN) $(if $(CONFIG),-fno-omit-frame-pointer) -fvisibility=hidden -MMD -MP $(OPT) $(ISA) $(SAN) $(CFLAGS)
INC      := -Ilibdispatch/include
sources   = $(sort $(shell find $(1) -name '*.c'))
# no slp: a key set stored as 2 x 8 bytes and loaded as 16 stalls every call
LIB_CC   := $(BASE) $(INC) -Ilibdispatch -fPIC -ftls-model=initial-exec -fno-semantic-interposition -fno-tree-slp-vectorize
DAEMON_PKGS := libuv libcjson
TEST_PKGS   := check

LIB_SRC  := $(call sources,libdispatch)
LIB_LEVELLED := $(foreach f,$(LIB_SRC),$(if $(findstring /levels/,$f),$f))
LIB_OBJ  := $(patsubst %.c,$(BUILD)/%.o,$(filter-out $(LIB_LEVELLED),$(LIB_SRC))) \
            $(foreach level,$(ALL_LEVELS),$(LIB_LEVELLED:%.c=$(BUILD)/%_$(level).o))
LIB      := $(BUILD)/libdispatchd.so
INSERTED := $(BUILD)/tests/inserted/libdispatchd.so
SIMCUDA  := $(BUILD)/tests/plugins/simcuda.so
MIRROR   := $(BUILD)/tests/plugins/mirror.so
INSERTED_OBJ := $(patsubst libdispatch/%.c,$(BUILD)/tests/inserted/%.o,$(filter-out $(LIB_LEVELLED),$(LIB_SRC)))
DAEMON_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(call sources,daemon)) $(BUILD)/gen/proto_tables.o
CLI_OBJ  := $(patsubst %.c,$(BUILD)/%.o,$(call sources,clients/cli)) $(BUILD)/gen/conform_page.o
CLIENT_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(call sources,clients/c))
CLIENT_A := $(BUILD)/libdispatchd-client.a
CLIENT_SO := $(BUILD)/libdispatchd-client.so.0
TRAIN_DIGITS := $(BUILD)/demo/train_digits $(BUILD)/demo/train_digits_calls
CLIENT_TESTS := $(patsubst tests/integration/clients/%.c,$(BUILD)/tests/%,$(wildcard tests/integration/clients/*.c))
PLUGIN_DIRS := $(filter-out lib,$(patsubst plugins/%/,%,$(wildcard plugins/*/)))
PLUGINS  := $(PLUGIN_DIRS:%=$(BUILD)/plugins/%.so)
BAD_PLUGINS := $(patsubst tests/plugins/%,$(BUILD)/tests/plugins/%.so,$(basename $(wildcard tests/plugins/*.c tests/plugins/*.cc)))
UNIT_OBJ := $(patsubst %.c,$(BUILD)/%.o,$(call sources,tests/unit))
TOOLS    := $(patsubst tests/tools/%.c,$(BUILD)/tests/%,$(wildcard tests/tools/*.c))
BENCHES  := $(patsubst tests/bench/%.c,$(BUILD)/tests/bench/%,$(wildcard tests/bench/*.c))
FUZZERS  := $(patsubst tests/fuzz/%.c,$(BUILD)/tests/fuzz/%,$(wildcard tests/fuzz/*.c))
FUZZ_PLUGINS := $(addprefix $(BUILD)/fuzz/plugins/,$(addsuffix .so,fast_math lying_note npu observer openmp resident))

# A line for each source that is compiled, with how many there are when nothing is built yet.
GOAL_OBJ = $(DAEMON_OBJ) $(LIB_OBJ) $(if $(filter fuzzers,$(MAKECMDGOALS)),$(FUZZERS) $(FUZZ_PLUGINS),$(CLI_OBJ) $(CLIENT_OBJ) \
           $(foreach p,$(PLUGIN_DIRS),$(call objects_of,$p)) $(if $(filter-out binaries demo install,$(or $(MAKECMDGOALS),all)),$(UNIT_OBJ) $(INSERTED_OBJ) $(BAD_PLUGINS) $(MIRROR_OBJ) $(CLIENT_TESTS) $(TRAIN_DIGITS) $(TOOLS) $(BENCHES) $(MATH_LOOPS) $(MATH_THEIRS)))
LEFT     = $(eval LEFT := $(foreach o,$(sort $(GOAL_OBJ)),$(if $(wildcard $o),,$o)))$(LEFT)
begin    = $(if $(filter 0,$(V)),$(eval BEGUN += $1)$(info [$(words $(BEGUN))$(if $(word $(words $(BEGUN)),$(LEFT)),/$(words $(LEFT)))] $1))

.DEFAULT_GOAL := all
.SUFFIXES:
.SECONDEXPANSION:

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile install.mk | expand -t 22


binaries: $(BUILD)/dispatchd $(BUILD)/dispatchctl $(CLIENT_A) $(CLIENT_SO) $(PLUGINS) ## build what is installed
all: binaries $(BAD_PLUGINS) $(CLIENT_TESTS) $(TRAIN_DIGITS) $(BUILD)/tests/run_unit $(TOOLS) $(BENCHES) $(INSERTED) $(SIMCUDA) $(if $(SANITIZE),,$(MIRROR)) ## build everything, tests too
	@echo "built $(BUILD)/  (hint: make check)"

deps: ## install what is missing (Debian 12)
	@sh tests/lib/deps.sh $(DEPS)

# What is compiled by $(CC_NAME) depends on the file $(BUILD)/flags/NAME, which is written when that is another.
CC_lib    = $(CC) $(LIB_CC)
CC_daemon = $(CC) $(BASE) $(INC) -Idaemon -I$(BUILD)/gen $$(pkg-config --cflags $(DAEMON_PKGS))
CC_cli    = $(CC) $(BASE) $(INC) -Iclients/c -Iclients/cli -DDISPATCHCTL_VERSION='"$(VERSION)"' -DDISPATCHD_PLUGINS='"$(PLUGIN_DIRS)"' $$(pkg-config --cflags libcjson)
CC_client = $(CC) $(BASE) -fPIC -DDPC_VERSION='"$(VERSION)"' $$(pkg-config --cflags libcjson)
CC_clienttest = $(CC) $(BASE) -Iclients/c $$(pkg-config --cflags libcjson)
CC_unit   = $(CC) $(BASE) $(INC) -Itests/unit -Ilibdispatch -Idaemon -I$(BUILD)/gen $$(pkg-config --cflags $(TEST_PKGS) $(DAEMON_PKGS))
CC_tool   = $(CC) $(BASE) $(INC) -Ilibdispatch $$(pkg-config --cflags libcjson)
CC_bench  = $(CC) $(BASE) $(INC) $$(pkg-config --cflags $(DAEMON_PKGS))
CC_fuzz   = $(CC) $(BASE) $(INC) -Ilibdispatch -Idaemon -I$(BUILD)/gen $$(pkg-config --cflags $(DAEMON_PKGS))
CC_cxx    = $(CXX) $(CXX_CC)
written   = $(subst ','\'',$(strip $(filter-out ccache,$(CC_$(1)) $(LIBS_$(1)))))
$(BUILD)/flags/%: FORCE
	@is='$(call written,$*)'; { read -r was <$@; } 2>/dev/null; [ "$$is" = "$$was" ] || { mkdir -p $(@D) && printf '%s\n' "$$is" >$@; }
.PRECIOUS: $(BUILD)/flags/%
FORCE:

# -- libdispatch --------------------------------------------------------------------------------
$(BUILD)/libdispatch/%.o: libdispatch/%.c $(BUILD)/flags/lib | deps
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(CC_lib) -c -o $@ $<
# -O3 and -fno-trapping-math: else loops with a choice in them are not vectorised
define LIB_LEVEL_RULE
CC_lib_$(1) = $$(CC_lib) -O3 -fno-math-errno -fno-trapping-math -fwrapv -ffp-contract=off $$(MARCH_$(1)) -DDP_ISA=$(1)
$(BUILD)/libdispatch/%_$(1).o: libdispatch/%.c $(BUILD)/flags/lib_$(1) | deps
	@mkdir -p $$(@D)
	$$(call begin,$$<)$$(Q)$$(CC_lib_$(1)) -c -o $$@ $$<
endef
$(foreach level,$(ALL_LEVELS),$(eval $(call LIB_LEVEL_RULE,$(level))))
$(LIB): $(LIB_OBJ)
	$(Q)$(CC) $(BASE) $(LDFLAGS) -shared -Wl,-soname,libdispatchd.so -Wl,-z,defs -Wl,-Bsymbolic-functions -o $@ $^ -ldl -lpthread -lm

# A host with two functionalities more, for tests/integration/plugins/test_inserted.py; its loops are the other one's.
CC_inserted = $(CC) $(LIB_CC) -O0 -DDP_TEST_INSERTED
$(BUILD)/tests/inserted/%.o: libdispatch/%.c $(BUILD)/flags/inserted | deps
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(CC_inserted) -c -o $@ $<
$(INSERTED): $(INSERTED_OBJ) $(filter-out $(LIB_SRC:%.c=$(BUILD)/%.o),$(LIB_OBJ))
	$(Q)$(CC) $(BASE) -shared -Wl,-soname,libdispatchd.so -Wl,-z,defs -Wl,-Bsymbolic-functions -o $@ $^ -ldl -lpthread -lm

# -- daemon and clients -------------------------------------------------------------------------
$(BUILD)/daemon/%.o: daemon/%.c $(BUILD)/flags/daemon | deps
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(CC_daemon) -c -o $@ $<
PROTO_GEN := $(addprefix proto/gen/,proto_params.py proto_schemas.py proto_tables.py tables.py) $(wildcard proto/methods/*.json proto/types/*.json)
$(BUILD)/gen/proto_tables.c: $(PROTO_GEN) | deps
	@mkdir -p $(@D)
	$(Q)$(PYTHON) proto/gen/proto_tables.py proto > $@.tmp && mv $@.tmp $@
# a struct of checked params for each method
$(BUILD)/gen/proto_params.h: $(PROTO_GEN) | deps
	@mkdir -p $(@D)
	$(Q)$(PYTHON) proto/gen/proto_params.py proto > $@.tmp && mv $@.tmp $@
$(DAEMON_OBJ) $(UNIT_OBJ): | $(BUILD)/gen/proto_params.h
$(BUILD)/gen/proto_tables.o: $(BUILD)/gen/proto_tables.c $(BUILD)/flags/daemon
	$(call begin,$<)$(Q)$(CC_daemon) -c -o $@ $<
$(BUILD)/dispatchd: $(DAEMON_OBJ) $(LIB)
	$(Q)$(CC) $(BASE) $(LDFLAGS) -o $@ $(DAEMON_OBJ) -L$(BUILD) -ldispatchd -Wl,-rpath,'$$ORIGIN' $$(pkg-config --libs $(DAEMON_PKGS)) -lpthread -lm
$(BUILD)/clients/%.o: clients/%.c $(BUILD)/flags/cli | deps
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(CC_cli) -c -o $@ $<
$(CLIENT_OBJ): $(BUILD)/%.o: %.c $(BUILD)/flags/client | deps
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(CC_client) -c -o $@ $<
# one object, in which what the library's files share is local: an archive has no other way to hide it
$(CLIENT_A): $(CLIENT_OBJ)
	$(Q)$(CC) -r -nostdlib -o $(BUILD)/clients/c/client.lo $^ && $$($(CC) -print-prog-name=objcopy) --localize-hidden $(BUILD)/clients/c/client.lo
	$(Q)rm -f $@ && $$($(CC) -print-prog-name=ar) rcs $@ $(BUILD)/clients/c/client.lo
$(CLIENT_SO): $(CLIENT_OBJ)
	$(Q)$(CC) $(BASE) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,-z,defs -o $@ $^ $$(pkg-config --libs libcjson)
	$(Q)ln -sf $(@F) $(BUILD)/libdispatchd-client.so
# page.html as a string of C
$(BUILD)/gen/conform_page.c: clients/cli/conform/page.html
	@mkdir -p $(@D)
	$(Q){ echo 'extern const char conform_page[]; const char conform_page[] ='; sed 's/[\\"?]/\\&/g; s/.*/"&\\n"/' $<; echo ';'; } > $@.tmp && mv $@.tmp $@
$(BUILD)/gen/conform_page.o: $(BUILD)/gen/conform_page.c $(BUILD)/flags/cli | deps
	$(call begin,$<)$(Q)$(CC_cli) -c -o $@ $<
$(BUILD)/dispatchctl: $(CLI_OBJ) $(CLIENT_A)
	$(Q)$(CC) $(BASE) $(LDFLAGS) -o $@ $^ $$(pkg-config --libs libcjson) -lm

# -- plugins: every .c below the folder but those in levels/, plus what plugins/NAME/plugin.mk adds -----
-include $(wildcard plugins/*/plugin.mk)
PLUGIN_CC = $(CC) $(BASE) $(INC) -fPIC -I$(BUILD)/gen -Iplugins
CXX_CC    = -std=c++17 -Wall -Wextra -Werror -fvisibility=hidden -MMD -MP $(OPT) $(SAN) $(INC) -fPIC
$(foreach name,$(PLUGIN_DIRS),$(eval CC_$(name) = $$(PLUGIN_CC) -Iplugins/$(name) $$(CFLAGS_$(name))))
room_of    = $(firstword $(subst /, ,$(1)))
alone_of   = $(foreach f,$(call sources,plugins/$(1)),$(if $(findstring /levels/,$f),,$f))
objects_of = $(patsubst %.c,$(BUILD)/%.o,$(call alone_of,$(1))) $(OBJ_$(1))
$(BUILD)/plugins/%.o: plugins/%.c $(BUILD)/flags/$$(call room_of,$$*) | deps
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(CC_$(call room_of,$*)) -c -o $@ $<
$(PLUGINS): $(BUILD)/plugins/%.so: $$(call objects_of,$$*) $(BUILD)/flags/%
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) $(LDFLAGS) -shared -Wl,-z,defs -o $@ $(filter %.o,$^) $(LIBS_$*)
# a test plugin's flags stand in its source
own_flags = $(shell sed -n 's,^/\* CFLAGS: \(.*\) \*/$$,\1,p' $<)
$(BUILD)/tests/plugins/%.so: tests/plugins/%.c $(BUILD)/flags/template | deps
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(PLUGIN_CC) $(own_flags) -shared -o $@ $<

$(BUILD)/tests/plugins/%.so: tests/plugins/%.cc $(BUILD)/flags/cxx | deps
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(CC_cxx) $(own_flags) -shared -o $@ $<

# After a change of the interface's draft; the file is committed.
frozen: tests/frozen/abi_2_0.c
	$(Q)gcc -std=gnu11 -O2 -s -fPIC -shared -fvisibility=hidden $(INC) -o tests/frozen/abi_2_0-$(shell uname -m).so $<

# A GPU's backend: with nvcc where CUDA=1 asks for it, else on threads of the host.
SIMCUDA_DIR := tests/plugins/simcuda
SIMCUDA_SRC := $(SIMCUDA_DIR)/caching.cc $(SIMCUDA_DIR)/device.cc $(SIMCUDA_DIR)/ops.cc
ifeq ($(CUDA),1)
CC_simcuda  = $(CXX) $(CXX_CC) -DSIMCUDA_REAL -I$(or $(CUDA_HOME),/usr/local/cuda)/include
SIMCUDA_RT  = -L$(or $(CUDA_HOME),/usr/local/cuda)/lib64 -lcudart
KERNELS_CC  = nvcc -std=c++17 -O2 -DSIMCUDA_REAL -Xcompiler -fPIC,-fvisibility=hidden -c
else
CC_simcuda  = $(CXX) $(CXX_CC)
SIMCUDA_RT  = -L$(BUILD)/tests/plugins -lsimcudart -Wl,-rpath,$(abspath $(BUILD)/tests/plugins)
KERNELS_CC  = $(CC_simcuda) -x c++ -c
$(SIMCUDA): $(BUILD)/tests/plugins/libsimcudart.so
endif
$(BUILD)/tests/plugins/libsimcudart.so: $(SIMCUDA_DIR)/cuda_stub.cc $(BUILD)/flags/cxx | deps
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(CC_cxx) -fvisibility=default -shared -Wl,-z,nodelete -Wl,-Bsymbolic -o $@ $< -lpthread
$(BUILD)/$(SIMCUDA_DIR)/%.o: $(SIMCUDA_DIR)/%.cc $(BUILD)/flags/simcuda | deps
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(CC_simcuda) -c -o $@ $<
$(BUILD)/$(SIMCUDA_DIR)/kernels.o: $(SIMCUDA_DIR)/kernels.cu $(SIMCUDA_DIR)/simcuda.h $(SIMCUDA_DIR)/cuda.h $(BUILD)/flags/simcuda | deps
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(KERNELS_CC) -o $@ $<
$(SIMCUDA): $(SIMCUDA_SRC:%.cc=$(BUILD)/%.o) $(BUILD)/$(SIMCUDA_DIR)/kernels.o
	$(Q)$(CXX) $(SAN) -shared -o $@ $(filter %.o,$^) $(SIMCUDA_RT)

# Plugin cpu again, as a backend of its own: its loops are the other one's, the rest is compiled for another key.
MIRROR_DIR := tests/plugins/mirror
MIRROR_OBJ := $(patsubst %.c,$(BUILD)/$(MIRROR_DIR)/%.o,composite.c $(call alone_of,cpu)) $(patsubst $(BUILD)/%,$(BUILD)/$(MIRROR_DIR)/%.o,$(ONCE))
CC_mirror   = $(CC_cpu) -O0 -g0 -w -D_GNU_SOURCE -include $(MIRROR_DIR)/mirror.h -I$(BUILD)/$(MIRROR_DIR)
$(BUILD)/$(MIRROR_DIR)/composite_names.h: $(BUILD)/plugins/composite.so
	@mkdir -p $(@D)
	$(Q)tr '\0' '\n' <$< | LC_ALL=C awk -F'\t' 'NF == 5 && $$1 == "impl" { cpu = $$2 "/" $$3 == "aten/CPU" } \
	    NF == 3 && $$1 == "impl" && cpu { print "ON_CPU(\"" $$2 "\")" }' | LC_ALL=C sort -u >$@
$(BUILD)/$(MIRROR_DIR)/composite.o: $(MIRROR_DIR)/composite.c $(BUILD)/$(MIRROR_DIR)/composite_names.h $(BUILD)/flags/mirror
	$(call begin,$<)$(Q)$(CC_mirror) -c -o $@ $<
$(BUILD)/$(MIRROR_DIR)/plugins/%.o: plugins/%.c $(BUILD)/flags/mirror | deps
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(CC_mirror) -c -o $@ $<
$(BUILD)/$(MIRROR_DIR)/gen/%.o: $(BUILD)/gen/%.c $(BUILD)/flags/mirror | deps
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(CC_mirror) -c -o $@ $<
$(MIRROR): $(MIRROR_OBJ) $(filter-out $(ONCE:%=%.o),$(OBJ_cpu))
	$(Q)$(CC) $(BASE) -shared -Wl,-z,defs -o $@ $^ $(LIBS_cpu)

# -- tests --------------------------------------------------------------------------------------
$(BUILD)/tests/unit/%.o: tests/unit/%.c $(BUILD)/flags/unit | deps
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(CC_unit) -c -o $@ $<
# plugins/lib/math.h at each vector level
MATH_LOOPS  := $(ALL_LEVELS:%=$(BUILD)/tests/lib/math_loops_%.o)
MATH_THEIRS := $(ALL_LEVELS:%=$(BUILD)/tests/lib/math_libmvec_%.o)
MATH_CFLAGS_v4 := -mprefer-vector-width=512
$(foreach level,$(ALL_LEVELS),$(eval CC_math_$(level) = $$(CC) $$(BASE) $$(CFLAGS_cpu) $$(MARCH_$(level)) $$(MATH_CFLAGS_$(level)) -DMATH_LEVEL=$(level)))
$(MATH_LOOPS): $(BUILD)/tests/lib/math_loops_%.o: tests/lib/math_loops.c $(BUILD)/flags/math_% | deps
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(CC_math_$*) -c -o $@ $<
$(MATH_THEIRS): $(BUILD)/tests/lib/math_libmvec_%.o: tests/lib/math_libmvec.c $(BUILD)/flags/math_% | deps
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(CC_math_$*) -c -o $@ $<
$(BUILD)/tests/bench/math: tests/bench/math.c $(MATH_LOOPS) $(MATH_THEIRS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(BASE) -o $@ $^ -lmvec -lm
# linked with the objects, not the library: unit tests see what is hidden
$(BUILD)/tests/run_unit: $(UNIT_OBJ) $(MATH_LOOPS) $(LIB_OBJ) $(filter-out %/main.o,$(DAEMON_OBJ))
	$(Q)$(CC) $(BASE) -o $@ $^ $$(pkg-config --libs $(TEST_PKGS) $(DAEMON_PKGS)) -ldl -lpthread -lm
WRAP_client_memory := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup
$(CLIENT_TESTS): $(BUILD)/tests/%: tests/integration/clients/%.c $(CLIENT_A) $(BUILD)/flags/clienttest
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(CC_clienttest) -o $@ $< $(CLIENT_A) $(WRAP_$*) $$(pkg-config --libs libcjson) -lpthread
$(TRAIN_DIGITS): $(BUILD)/demo/%: clients/demo/%.c clients/demo/digits_data.c clients/demo/digits_data.h $(CLIENT_A) $(BUILD)/flags/clienttest
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(CC_clienttest) -o $@ $(filter %.c,$^) $(CLIENT_A) $$(pkg-config --libs libcjson)
$(BUILD)/tests/%: tests/tools/%.c $(LIB_OBJ) $(BUILD)/flags/tool
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(CC_tool) -o $@ $< $(LIB_OBJ) $$(pkg-config --libs libcjson) -ldl -lpthread -lm
$(BUILD)/tests/bench/client: tests/bench/client.c $(CLIENT_A) $(BUILD)/flags/clienttest
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(CC_clienttest) -o $@ $< $(CLIENT_A) $$(pkg-config --libs libcjson)
$(BUILD)/tests/bench/%: tests/bench/%.c $(LIB) $(BUILD)/flags/bench
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(CC_bench) -o $@ $< -L$(BUILD) -ldispatchd -Wl,-rpath,'$$ORIGIN/../..' $$(pkg-config --libs $(DAEMON_PKGS)) -lpthread -lm
# libFuzzer's programs, for `make fuzz`.  They load no plugin, and those with which the fuzzer of files starts are small.
$(FUZZERS): | $(BUILD)/gen/proto_params.h
$(BUILD)/tests/fuzz/%: tests/fuzz/%.c $(LIB_OBJ) $(filter-out %/main.o %/probe.o,$(DAEMON_OBJ)) $(BUILD)/flags/fuzz
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(CC_fuzz) -fsanitize=fuzzer -Wl,--wrap=dlopen -o $@ $(filter %.c %.o,$^) $$(pkg-config --libs $(DAEMON_PKGS)) -ldl -lpthread -lm
$(BUILD)/fuzz/plugins/%.so: tests/plugins/%.c | deps
	@mkdir -p $(@D)
	$(call begin,$<)$(Q)$(CC) -std=gnu11 -Os -fPIC -shared -Wl,-z,noseparate-code $(INC) -Iplugins $(own_flags) -o $@ $<
fuzzers: $(FUZZERS) $(FUZZ_PLUGINS)
fuzz: ## give each reader of foreign data (T=socket: that one) inputs of libFuzzer for FUZZ_SECONDS (600)
	$(Q)sh tests/lib/deps.sh clang libclang-rt-14-dev
	$(Q)MAKEFLAGS= $(MAKE) --no-print-directory fuzzers CC=clang BUILD=build-fuzz SANITIZE=fuzzer-no-link$(comma)address$(comma)undefined WARN=-Wall CFLAGS=-D__SANITIZE_ADDRESS__ LEVELS=v1
	$(Q)$(PYTHON) tests/fuzz/fuzz.py build-fuzz $(or $(T),$(notdir $(FUZZERS)))

check: all ## run every test, or with T=index those with that text in their path or name
	$(Q)BUILD=$(BUILD) SANITIZE=$(SANITIZE) PYTHON=$(PYTHON) T='$(T)' sh tests/run.sh

docs: binaries ## write build/docs/operators.md, every operator with its keys and sources
	$(Q)mkdir -p $(BUILD)/docs
	$(Q)BUILD=$(abspath $(BUILD)) PYTHONPATH=tests/lib:clients/python $(PYTHON) tests/lib/where.py --page $(OPS_YAML) $(BUILD)/docs/operators.md
map: ## write docs/map.md, every source file, docs/methods.md, every method, and the schemas of the Python package
	$(Q)$(PYTHON) proto/gen/map.py . >docs/map.md.new && mv docs/map.md.new docs/map.md
	$(Q)$(PYTHON) proto/gen/methods_page.py proto >docs/methods.md.new && mv docs/methods.md.new docs/methods.md
	$(Q)$(PYTHON) proto/gen/emit_python.py proto/ops/native_functions.yaml proto/ops/public.yaml clients/python/dispatchd
where: binaries ## say where OP=index_put is defined and its kernels are
	$(Q)BUILD=$(abspath $(BUILD)) PYTHONPATH=tests/lib:clients/python $(PYTHON) tests/lib/where.py '$(OP)'
errors: all ## print every distinct error text of wrong calls and requests, for reading
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) sh tests/run.sh tests/operators/error_texts.py '$(T)'
samples: all ## write proto/samples anew, from PyTorch's samples (needs python3-torch)
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) sh tests/run.sh tests/operators/record/record_samples.py
conformance: all ## compare operators with PyTorch (needs python3-torch)
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) PARTS='tests/operators/run.py tests/operators/test_*.py' sh tests/run.sh
check-grad: all ## compare gradients with PyTorch's and with finite differences (needs python3-torch)
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) PART_SECONDS=3600 sh tests/run.sh tests/operators/check_grad.py '$(T)'

# Valgrind 3.19 lacks an instruction of the AVX2 kernels and openat2(), and computes long double in 64 bits: tests with the
# tag not_valgrind need them.  Of leaks, only those count to whose block nothing points: pointers to the middle of a block,
# and with a flag in the lowest bit, are usual here.
valgrind: $(BUILD)/tests/run_unit | $(BAD_PLUGINS) ## run the unit tests under valgrind, or with T=NAME the suite of that name
	$(Q)sh tests/lib/deps.sh valgrind libc6-dbg
	$(Q)$(if $(T),CK_RUN_SUITE='$(T)') CK_EXCLUDE_TAGS=not_valgrind CK_TIMEOUT_MULTIPLIER=10 DISPATCHD_CPU_CAPABILITY=default \
	    valgrind -q --max-threads=2000 --error-exitcode=1 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite $<
memory: all ## 20 rounds of 1,000 clients: resident memory stays flat
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) DP_MEMORY_ROUNDS=20 DP_MEMORY_CLIENTS=1000 sh tests/run.sh tests/integration/daemon/test_memory.py
soak: all ## 64 clients do everything at random for SOAK_SECONDS (1800)
	$(Q)BUILD=$(BUILD) SANITIZE=$(SANITIZE) PYTHON=$(PYTHON) SOAK_SECONDS=$(or $(SOAK_SECONDS),1800) sh tests/run.sh tests/soak/test_soak.py
sweep-huge: all ## call every operator with tensors of 2^62 elements, and of 2^26 real ones
	$(Q)BUILD=$(BUILD) SANITIZE=$(SANITIZE) PYTHON=$(PYTHON) PART=1 PART_SECONDS=14400 PARTS="tests/integration/operators/test_huge.py tests/integration/operators/test_long.py" sh tests/run.sh

demo: binaries ## the main job, on real input
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) sh clients/demo/demo.sh

bench: all ## print timings, beside those of build directory OTHER if set
	$(Q)BUILD=$(BUILD) OTHER=$(OTHER) $(PYTHON) tests/bench/bench.py
	$(Q)if $(PYTHON) -c 'import torch' 2>/dev/null; then BUILD=$(BUILD) $(PYTHON) tests/bench/python.py; fi
bench-aten: all ## time operators beside PyTorch's; ARGS='--only PATTERN --quick'
	$(Q)BUILD=$(BUILD) $(PYTHON) tests/bench/aten_bench.py $(ARGS)

SRC := $(shell find libdispatch daemon plugins clients tests -name '*.[ch]' -o -name '*.cc')
fmt: ## format the C sources
	$(Q)clang-format -i $(filter-out %/api.h,$(SRC))
fmt-check: ## fail when a source is not formatted
	$(Q)clang-format --dry-run -Werror $(filter-out %/api.h,$(SRC))
lint: $(BUILD)/gen/proto_params.h ## cppcheck over the C sources, products in byte counts, and do the fuzzers compile
	$(Q)$(PYTHON) tests/lib/byte_counts.py
	$(Q)$(CC_fuzz) -w -MF /dev/null -fsyntax-only $(FUZZERS:$(BUILD)/%=%.c)
	@# two of the ways in which #ifdef selects code: all twelve of the default take three times as long
	$(Q)cppcheck --quiet -j $$(nproc) --max-configs=2 --std=c11 --error-exitcode=1 --enable=warning,portability --inline-suppr --suppress=unknownMacro --suppress=missingInclude $(INC) -Ilibdispatch -Idaemon libdispatch daemon clients/cli clients/c
symbols: $(LIB) ## compare what is exported with tests/lib/symbols.txt
	$(Q)nm -D --defined-only $(LIB) | awk '{print $$3}' | LC_ALL=C sort | diff tests/lib/symbols.txt - && echo "1 passed, 0 failed"
arm64: ## build for aarch64 into BUILD, by a cross compiler, and run what was built under qemu
	$(Q)sh tests/lib/arm64.sh $(abspath $(if $(filter build,$(BUILD)),build-arm64,$(BUILD)))
include install.mk
clean: ## remove every build directory
	rm -rf build build-*

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
.PHONY: help docs map where errors all binaries arm64 deps check sweep-huge samples conformance check-grad memory valgrind soak demo bench bench-aten fuzz fuzzers fmt fmt-check lint symbols frozen pages install uninstall dist deb package-check clean
