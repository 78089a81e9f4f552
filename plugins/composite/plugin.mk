# plugin composite: sizes of a client's making are multiplied, so that overflow has to be defined
CFLAGS_composite = -fwrapv
LIBS_composite   = -lm
OBJ_composite    = $(BUILD)/gen/composite_variants.o $(BUILD)/gen/composite_follow.o

$(OBJ_composite): %.o: %.c $(BUILD)/flags/composite
	$(call begin,$<)$(Q)$(CC_composite) -c -o $@ $<

$(BUILD)/plugins/composite/random/sobol.o: plugins/composite/random/sobol.bin
