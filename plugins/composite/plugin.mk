# plugin composite: sizes of a client's making are multiplied, so that overflow has to be defined
CFLAGS_composite = -fwrapv
LIBS_composite   = -lm
