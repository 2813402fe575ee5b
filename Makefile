# What a newcomer needs: `make demo` and `make test`. Each makes its own environment in .venv first.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help

help:            ## this list
	@grep -E '^[a-z0-9]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

PIP := $(BIN)/pip install --quiet --disable-pip-version-check

.venv/.base: pyproject.toml
	@echo "Making an environment in .venv ..."
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/.demo: .venv/.base
	@echo "Installing adjoint, NumPy, scikit-learn and matplotlib with pip: this takes about a minute ..."
	@$(PIP) -e '.[demo]'
	@touch $@

.venv/.test: .venv/.base
	@echo "Installing adjoint and what its tests need with pip: this takes about a minute ..."
	@$(PIP) -e '.[demo,test]'
	@touch $@

.venv/.dev: .venv/.test
	@echo "Installing ruff and pyright with pip ..."
	@$(PIP) -e '.[demo,test,dev]'
	@touch $@

.venv/.site: .venv/.test
	@echo "Installing Sphinx with pip ..."
	@$(PIP) -e '.[demo,test,site]'
	@touch $@

demo: .venv/.demo        ## LeNet-5 learns handwritten digits; its gradients, its adjoint and a picture
	@$(BIN)/python examples/lenet_digits.py

# What looks through all objects of a process takes minutes where other tests have left millions.
ALONE := $(wildcard tests/runtime/inspection/test_memory_use.py tests/runtime/inspection/test_profil*.py \
	tests/runtime/inspection/test_untouched.py tests/test_docs.py)

test: .venv/.test        ## the whole test suite; an op that would fall back to NumPy is an error
	ADJOINT_FORBID_INTERPRETER=1 $(BIN)/python -m pytest -n auto --dist worksteal $(patsubst %,--ignore=%,$(ALONE))
	ADJOINT_FORBID_INTERPRETER=1 $(BIN)/python -m pytest -n auto --dist worksteal $(ALONE)

.venv/.browser: .venv/.test
	@echo "Installing Playwright with pip ..."
	@$(PIP) -e '.[demo,test,browser]'
	@touch $@

browser: .venv/.browser  ## tests of the explorer's page in a real browser: Debian's chromium (apt-get install chromium)
	$(BIN)/python -m pytest tests/explorer -n auto -rs

pictures: .venv/.browser ## draw the pictures of the explorer in docs/images, in chromium
	$(BIN)/python docs/pictures.py

fuzz: .venv/.test        ## programs and hostile calls made up, others each time: make fuzz N=2000; SEED= the first one
	ADJOINT_FUZZ=$(or $(N),$(if $(SEED),1,500)) ADJOINT_FUZZ_SEED=$(SEED) $(BIN)/python -m pytest tests/test_made_up_programs.py $(if $(SEED),,tests/test_hostile_calls.py)

sanitize: .venv/.test    ## kernels under AddressSanitizer and UBSan: ops, programs, hostile calls; make sanitize TESTS=tests/nn
	$(BIN)/python tests/sanitized.py $(TESTS)

oldest: .venv/.base      ## a part of the tests on the oldest Python and dependencies that are allowed; where to get it: CONTRIBUTING.md
	$(BIN)/python tools/other_python.py oldest $(TESTS)

newest: .venv/.base      ## the same on the newest Python and dependencies; make newest TESTS=tests/frontend for others, TESTS=tests for all
	$(BIN)/python tools/other_python.py newest $(TESTS)

arm64: .venv/.test       ## bits of kernels here and on an emulated arm64: float32 samples of all ops, minutes; TESTS=tests/test_ops.py runs tests there
	$(BIN)/python tools/arm64.py $(TESTS)

export: .venv/.test      ## exported C with many compilers, on emulated processors and a Cortex-M4: bits; minutes; make export MACHINE=riscv64
	$(BIN)/python tools/export_matrix.py $(if $(SAMPLE),--sample) --machine "$(MACHINE)"

check: .venv/.dev        ## ruff and pyright
	$(BIN)/ruff check adjoint tests examples benchmarks docs tools
	$(BIN)/pyright

golden: .venv/.test      ## rewrite the expectations of the golden files: read the diff before you commit it
	$(BIN)/python -m pytest tests/golden tests/test_docs.py --update-golden

bench: .venv/.demo       ## our own figures; benchmarks/README.md says how to measure beside other frameworks
	$(BIN)/python benchmarks/run.py

docs: .venv/.test        ## write the generated pages of docs/
	$(BIN)/python docs/indexes.py
	$(BIN)/python docs/generate.py

site: .venv/.site        ## the pages of docs/ and a reference of the API as a site in out/site; a broken link is an error
	$(BIN)/python tools/site/build.py

clean:           ## remove the environment and what was built
	rm -rf .venv build dist *.egg-info out

.PHONY: help demo test fuzz sanitize oldest newest arm64 export check golden bench docs site clean browser pictures
