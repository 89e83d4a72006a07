# SPDX-License-Identifier: GPL-2.0
#
# The commands a person types; kbuild reads Kbuild instead.
#   KDIR=/path/to/linux  PATCH=file-or-folder  OUT=dir  FILTER=suite.case
#   BOOTS=n  SEED=n  ARCH=arm64|x86_64  VARIANT=name
#   SERIES='name ...'  RESUME=1  EACH=1 (series)  BASE=  HEAD= (bench)
#   TARGET=name (series-check)

TREE = $(if $(KDIR),--kdir '$(KDIR)') $(if $(PATCH),--patch '$(PATCH)')
KEEP = $(if $(OUT),--out '$(OUT)') $(if $(FILTER),--filter '$(FILTER)') $(if $(SEED),--seed $(SEED))
OPTS = $(TREE) $(KEEP) $(if $(BOOTS),--boots $(BOOTS))
WHICH = $(if $(ARCH),--arch $(ARCH)) $(if $(VARIANT),--variant $(VARIANT))

.PHONY: run test test-all series series-check selftests bench kernel check unit help

run:
	@./ptebatch run $(OPTS) $(WHICH)
test:
	@./ptebatch test $(OPTS)
test-all:
	@./ptebatch test-all $(OPTS)
series:
	@./ptebatch series $(SERIES) $(if $(KDIR),--kdir '$(KDIR)') $(KEEP) $(WHICH) \
		$(if $(RESUME),--resume) $(if $(EACH),--each)
bench:
	@./ptebatch bench $(or $(BASE),base) $(HEAD) $(if $(KDIR),--kdir '$(KDIR)') $(KEEP) \
		$(if $(BOOTS),--boots $(BOOTS)) $(if $(ARCH),--arch $(ARCH))
series-check:
	@./ptebatch series-check $(SERIES) $(if $(KDIR),--kdir '$(KDIR)') \
		$(if $(TARGET),--target '$(TARGET)')
selftests:
	@./ptebatch selftests $(TREE) $(if $(OUT),--out '$(OUT)') $(if $(ARCH),--arch $(ARCH))
kernel:
	@./ptebatch kernel $(TREE)
check:
	@./ptebatch check $(TREE)
unit:
	@./ptebatch unit
help:
	@./ptebatch --help
