# Work for make: variables, functions, pattern rules and conditionals.
WORDS := $(foreach a,1 2 3 4 5,$(foreach b,x y z,word$(a)$(b)))
UPPER = $(subst w,W,$(1))
define RULE
$(1): $(1).in
	@echo $(call UPPER,$(1)) $$^
endef
$(foreach word,$(WORDS),$(eval $(call RULE,$(word))))
export WORDS
ifeq ($(words $(WORDS)),15)
all: $(WORDS) sorted
endif
sorted: ; @echo $(sort $(patsubst %,<%>,$(WORDS)))
%.in: ; @echo $@ $(notdir $(CURDIR)/$*)
