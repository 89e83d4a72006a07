# SPDX-License-Identifier: GPL-2.0
#
# The commands a person types; kbuild reads Kbuild instead. Each takes variables:

TAKES_run          = ARCH VARIANT FILTER PATCH KDIR OUT SEED BOOTS PATIENCE
TAKES_test         = ARCH FILTER PATCH KDIR OUT SEED BOOTS PATIENCE
TAKES_test-all     = $(TAKES_test)
TAKES_series       = SERIES ARCH VARIANT FILTER EACH RESUME KDIR OUT SEED PATIENCE ROOT
TAKES_bench        = BASE HEAD ARCH FILTER BOOTS KDIR OUT PATIENCE ROOT
TAKES_series-check = SERIES TARGET KDIR ROOT
TAKES_selftests    = ARCH PATCH KDIR OUT PATIENCE
TAKES_kernel       = ARCH PATCH KDIR
TAKES_check        = PATCH KDIR
TAKES_unit         =

COMMANDS = run test test-all series bench series-check selftests kernel check unit

# Each is an option of ./ptebatch; these have no value, or come without a name.
quoted = '$(subst ','\'',$1)'
name = --$(shell echo $1 | tr A-Z a-z)
option = $(if $($1),$(call name,$1)=$(call quoted,$($1)))
SWITCHES = RESUME EACH
WORDS = SERIES BASE HEAD
BASE ?= $(if $(HEAD),base)

GIVEN = $(foreach v,$(.VARIABLES),$(if $(filter command,$(origin $v)),$v))
check = $(foreach v,$(filter-out $(TAKES_$@),$(GIVEN)),$(error make $@ takes no $v, \
	only: $(or $(TAKES_$@),no variable)))
options = $(foreach v,$(filter-out $(SWITCHES) $(WORDS),$(TAKES_$@)),$(call option,$v)) \
	$(foreach v,$(filter $(SWITCHES),$(TAKES_$@)),$(if $($v),$(call name,$v)))

.PHONY: $(COMMANDS) help
.DEFAULT_GOAL = run

$(COMMANDS):
	$(check)@./ptebatch $@ $(foreach v,$(filter $(WORDS),$(TAKES_$@)),$(foreach w,$($v),$(call quoted,$w))) $(strip $(options))
help:
	@./ptebatch --help
