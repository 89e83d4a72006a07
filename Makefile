# SPDX-License-Identifier: GPL-2.0
#
# The commands a person types; kbuild reads Kbuild instead.
#   KDIR=/path/to/linux  PATCH=file-or-folder  OUT=dir  FILTER=suite.case
#   BOOTS=n  SEED=n  ARCH=arm64|x86_64  VARIANT=name

TREE = $(if $(KDIR),--kdir '$(KDIR)') $(if $(PATCH),--patch '$(PATCH)')
OPTS = $(TREE) $(if $(OUT),--out '$(OUT)') $(if $(FILTER),--filter '$(FILTER)') \
	$(if $(BOOTS),--boots $(BOOTS)) $(if $(SEED),--seed $(SEED))
WHICH = $(if $(ARCH),--arch $(ARCH)) $(if $(VARIANT),--variant $(VARIANT))

.PHONY: run test test-all kernel check unit help

run:
	@./ptebatch run $(OPTS) $(WHICH)
test:
	@./ptebatch test $(OPTS)
test-all:
	@./ptebatch test-all $(OPTS)
kernel:
	@./ptebatch kernel $(TREE)
check:
	@./ptebatch check $(TREE)
unit:
	@./ptebatch unit
help:
	@./ptebatch --help
