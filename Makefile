# Every target sets up what it needs; on a fresh machine with Python 3.11 or newer each can be the first.
PYTHON ?= python3
DATA ?= ../shared/data
VENV := .venv
PEERS := mempalace coremem brainmem mem0
CHROMA := .venv-chroma
TITANS := .venv-titans
LEAN := .venv-lean
RELEASE := .venv-release
CACHE := .cache
VLLM := $(HOME)/.cache/nscma/vllm-$(shell cksum < tests/vllm/requirements.txt | cut -d' ' -f1)
RUN := $(VENV)/bin/python
# Minutes of the soak of one store.
SOAK ?= 30
# Of the tables of eval.run: processes, and samples of each task; of all samples they take many hours.
RANKS ?= 2
# Tests of rows, which run a second time with their stores in PostgreSQL. Those of test_postgres.py are there already.
IN_POSTGRES := tests/core --ignore=tests/core/test_postgres.py \
	tests/curator/test_derived_texts.py \
	$(patsubst %,tests/episodic/test_%.py,recency_since user_index vectors) \
	tests/hierarchy/test_hierarchy_walks.py \
	$(patsubst %,tests/maintenance/test_%.py,check_owners copying transfer) \
	tests/semantic/test_entities.py \
	tests/integration/facts/test_isolation.py \
	$(addprefix tests/integration/test_,isolation.py digest.py sessions.py)
TABLES := babilong knowledge_update ablations structural sensitivity cam systems peers
READY := $(VENV)/.ready
MEASURING := $(VENV)/.eval

# A clone of the last commit, from which packages are built; its time is the time of every file in them.
SOURCE := build/source
BUILD = SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(RELEASE)/bin/uv build --quiet --build-constraints constraints.txt

.PHONY: dist release-check lean demo test vllm test-vllm test-titans check docs client figures prove bench gpu model chroma peers $(PEERS) clean

$(READY): pyproject.toml constraints.txt
	@echo "setting up $(VENV), once; minutes, and several GB with a CUDA build of torch"
	@echo "1 of 4: a virtual environment in $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@echo "2 of 4: a recent pip"
	@$(RUN) -m pip install --quiet --upgrade 'pip>=24'
	@echo "3 of 4: torch, the largest download"
	@$(RUN) -m pip install --quiet --constraint constraints.txt torch
	@echo "4 of 4: this package, and what its tests need"
	@$(RUN) -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

# RAPTOR clusters with umap-learn, which no test at every commit needs.
$(MEASURING): $(READY)
	@$(RUN) -m pip install --quiet --constraint constraints.txt --editable '.[eval]'
	@touch $@

demo: $(READY)
	$(RUN) -m nscma_torch demo

# Of the tests' thousands of small stores each write waits for the disk; in memory, where 4 GB of it are free, none does.
IN_MEMORY := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4194304 { print "PYTEST_DEBUG_TEMPROOT=/dev/shm" }')

# Bytecode is kept whatever the environment says: tests start some 50 processes that import the package.
test: $(READY)
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(IN_MEMORY) $(RUN) -m pytest -n 2
	PYTHONDONTWRITEBYTECODE= OMP_NUM_THREADS=1 $(IN_MEMORY) $(RUN) -m pytest -n 2 --dialect postgresql $(IN_POSTGRES)

IN_VLLM := PYTHONPATH=$(CACHE)/vllm:. OMP_NUM_THREADS=1 VLLM_CPU_KVCACHE_SPACE=1

# vLLM pins too much to live beside the rest; its environment is shared by all checkouts.
test-vllm: $(VLLM)/.ready
	rm -rf $(CACHE)/vllm
	$(VLLM)/bin/python -m pip install --quiet --no-deps --no-build-isolation --target $(CACHE)/vllm .
	$(IN_VLLM) $(VLLM)/bin/pytest -m vllm -o filterwarnings= -o pythonpath= tests/vllm

vllm: $(VLLM)/.ready

$(VLLM)/.ready: tests/vllm/requirements.txt
	$(PYTHON) -m venv $(VLLM)
	$(VLLM)/bin/pip install --quiet --upgrade 'pip>=24'
	$(VLLM)/bin/pip install --quiet --constraint constraints.txt torch
	$(VLLM)/bin/pip install --quiet --no-deps --requirement tests/vllm/requirements.txt
	touch $@

check: $(READY)
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	$(VENV)/bin/lint-imports --no-logo
	$(RUN) -m mypy
	$(MAKE) docs

# The documentation, with its generated parts, into build/site; a broken link or docstring fails.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs build --strict --quiet

# The JavaScript client, from the server's OpenAPI document.
client: $(READY)
	$(RUN) -m docs.clients.generate

# Every row of the README's table of results, in its order; some hours, most of them eval.run's. Those runs go on where they stopped.
figures: export OMP_NUM_THREADS := 1
figures: $(MEASURING)
	$(RUN) -m eval.experiments.retrieval.retrieval_table --data $(DATA) --cache $(CACHE) --kinds chunk --sets locomo \
		--strategies BM25 dense RRF auto
	$(RUN) -m eval.run --config configs/eval/systems.toml --data $(DATA) --out $(CACHE)/figures-systems --cache $(CACHE) --limit 20 \
		--tasks "LoCoMo, four sessions" --systems "NSCMA full" "RRF of BM25 and dense"
	$(RUN) -m eval.report $(CACHE)/figures-systems --to $(CACHE)/figures-systems/report
	$(RUN) -m eval.experiments.reading.conversations --conversations $(addprefix train/reader/dialogues/test/,gudrun hiroshi ngozi)
	$(RUN) -m eval.experiments.reading.conversations --conversations train/reader/dialogues/test/petra
	$(RUN) -m eval.experiments.reading.conversations --conversations train/reader/chats/test
	$(RUN) -m eval.experiments.state.state_questions --histories eval/data/state/test
	$(RUN) -m eval.experiments.facts.statements_quality --half new_test
	$(RUN) -m eval.experiments.reading.question_lookups
	$(RUN) -m eval.experiments.facts.update_fidelity --chains 500 --cache $(CACHE)
	$(RUN) -m eval.run --config configs/eval/babilong.toml --data $(DATA) --out $(CACHE)/figures-babilong --cache $(CACHE) --budget 40m \
		--tasks "BABILong 10k" --samples 'qa[123]-*' --systems "NSCMA full" "full context" "sliding window 8k"
	$(RUN) -m eval.report $(CACHE)/figures-babilong --to $(CACHE)/figures-babilong/report
	$(RUN) -m eval.experiments.facts.babi_facts --data $(DATA) --stories 30
	$(RUN) -m eval.experiments.facts.babi_facts --data $(DATA) --stories 6 --renamed
	$(RUN) -m nscma_torch demo

prove: $(MEASURING) $(PEERS:%=.venv-%/.ready) $(CHROMA)/.ready test-vllm test-titans
	$(MAKE) figures
	$(RUN) -m pytest -m prove -s
	OMP_NUM_THREADS=1 $(RUN) -m tests.integration.store_soak --minutes $(SOAK)
	OMP_NUM_THREADS=1 $(RUN) -m tests.integration.store_soak --minutes $(SOAK) --dialect postgresql --processes 8 --threads 1 --users 200
	$(RUN) -m eval.experiments.retrieval.answerability_auc --data $(DATA)
	$(RUN) -m eval.experiments.reading.reader_scores --data $(DATA) --dialogues train/reader/dialogues/test
	$(RUN) -m eval.experiments.reading.locomo_answers --data $(DATA) --half odd
	$(RUN) -m eval.experiments.reading.beam_answers --data $(DATA) --half odd
	$(RUN) -m eval.experiments.reading.calibration --fit train/reader/chats/calibration --measure train/reader/chats/dev --data $(DATA)
	$(RUN) -m eval.experiments.state.state_questions --histories eval/data/state/dev
	$(RUN) -m eval.experiments.state.effect_scores --state train/reader/state/dev/theo
	$(RUN) -m eval.experiments.state.effect_scores --state train/reader/state/dev/judged
	$(RUN) -m eval.experiments.state.effect_scores --state train/reader/state/test/judged
	$(RUN) -m eval.experiments.state.state_rivals --histories eval/data/state/test
	$(RUN) -m eval.experiments.state.forget_requests --requests train/forgetting/test
	$(RUN) -m eval.experiments.state.due_days --histories eval/data/due/test
	$(RUN) -m train.records.train_types --evaluate
	$(RUN) -m eval.experiments.hierarchy.cam_cost --data $(DATA) --cache $(CACHE) --out $(CACHE)
	$(RUN) -m eval.experiments.retrieval.retrieval_table --data $(DATA) --cache $(CACHE) --peer-python $(CHROMA)/bin/python --kinds chunk \
		--strategies BM25 dense RRF ChromaDB "lexical lane" "vector lane" "RRF of lanes" single-step auto
	$(RUN) -m eval.experiments.retrieval.retrieval_table --data $(DATA) --cache $(CACHE) --limit 40
	$(RUN) -m eval.experiments.speed.search_speed --data $(DATA)
	$(RUN) -m eval.experiments.speed.search_speed --data $(DATA) --dtype bfloat16
	$(RUN) -m eval.experiments.speed.concurrent_search
	$(RUN) -m train.gate.train_gate --evaluate --cache $(CACHE)
	$(RUN) -m eval.experiments.gate.gating --data $(DATA) --cache $(CACHE)
	$(RUN) -m eval.experiments.gate.repetition --half test
	$(RUN) -m eval.experiments.retrieval.controller_calls --dialogues 60
	$(RUN) -m train.controller.controller_sft --config configs/train/controller_tiny.toml --out $(CACHE)/controller --cpu
	$(IN_VLLM) $(VLLM)/bin/python -m eval.experiments.retrieval.controller_calls --config $(CACHE)/controller/controller.toml \
		--model $(CACHE)/controller/model --engine vllm --dialogues 40
	$(RUN) -m eval.experiments.facts.statements_quality --half test
	$(RUN) -m eval.experiments.facts.exchange_facts
	$(RUN) -m eval.experiments.facts.exchange_facts --sure 0.9 0.8 0.7
	$(RUN) -m eval.experiments.facts.exchange_facts --exchanges train/reader/exchanges/open/test --open
	$(RUN) -m eval.experiments.facts.exchange_facts --exchanges train/reader/exchanges/new/test --relations train/reader/exchanges/new/relations.toml
	$(RUN) -m eval.experiments.facts.update_fidelity --no-vectors --paraphrases test
	$(RUN) -m eval.experiments.facts.update_fidelity --figure
	CHROMA_PYTHON=$(CHROMA)/bin/python $(RUN) -m pytest tests/eval/systems -k rag
	MEMPALACE_PYTHON=.venv-mempalace/bin/python COREMEM_PYTHON=.venv-coremem/bin/python \
		BRAINMEM_PYTHON=.venv-brainmem/bin/python MEM0_PYTHON=.venv-mem0/bin/python \
		$(RUN) -m pytest tests/eval/systems/test_peer.py -k real_package
	$(RUN) -m eval.judge --agreement
	for table in $(TABLES); do \
		$(RUN) -m torch.distributed.run --standalone --nproc-per-node $(RANKS) -m eval.run --limit $(SAMPLES) \
			--config configs/eval/$$table.toml --data $(DATA) --out $(CACHE)/$$table --cache $(CACHE) && \
		$(RUN) -m eval.report $(CACHE)/$$table --to $(CACHE)/$$table/report || exit 1; \
	done
	$(RUN) -m eval.run --config configs/eval/cam_table.toml --tasks QMSum --budget 40m --data $(DATA) --out $(CACHE)/cam_table --cache $(CACHE)
	$(RUN) -m eval.report $(CACHE)/cam_table --to $(CACHE)/cam_table/report
	$(RUN) -m eval.leaderboard $(addprefix $(CACHE)/,$(TABLES)) --to $(CACHE)/leaderboard
	$(RUN) -m eval.experiments.systems.through_vllm --vllm $(VLLM)/bin/python --data $(DATA) --out $(CACHE)/through-vllm \
		--model $(CACHE)/controller/model
	$(RUN) kernels/bench.py
	$(RUN) kernels/cost.py --out $(CACHE)/cost.png
	$(RUN) -m eval.experiments.speed.ingest --data $(DATA)
	$(RUN) -m train.proxy.proxy_lm --evaluate --data $(DATA)

# Memory packages of others, each in an environment of its own.
INSTALL_mempalace := mempalace==3.11.0 chromadb==1.5.9
INSTALL_coremem := coremem==0.17.1 chromadb==1.5.9 sentence-transformers==5.7.0
INSTALL_brainmem := brainmem==0.3.0
INSTALL_mem0 := mem0ai==2.2.1 faiss-cpu==1.15.1 sentence-transformers==6.2.0

peers: $(PEERS)

$(PEERS): %: .venv-%/.ready

$(PEERS:%=.venv-%/.ready): .venv-%/.ready:
	$(PYTHON) -m venv .venv-$*
	$(if $(findstring sentence-transformers,$(INSTALL_$*)),.venv-$*/bin/pip install --quiet torch==2.13.0)
	.venv-$*/bin/pip install --quiet $(INSTALL_$*)
	touch $@

# NeuralMemory beside titans-pytorch, with its weights.
test-titans: $(TITANS)/.ready
	PYTHONPATH=.:kernels OMP_NUM_THREADS=1 $(TITANS)/bin/python -m pytest --noconftest -o pythonpath= -o filterwarnings= tests/neural/test_titans_pytorch.py

$(TITANS)/.ready:
	$(PYTHON) -m venv $(TITANS)
	$(TITANS)/bin/pip install --quiet torch==2.13.0
	$(TITANS)/bin/pip install --quiet titans-pytorch==0.5.5 pytest safetensors
	touch $@

chroma: $(CHROMA)/.ready

$(CHROMA)/.ready:
	$(PYTHON) -m venv $(CHROMA)
	$(CHROMA)/bin/pip install --quiet chromadb==1.5.9
	touch $@

# The wheel and the source distribution of the last commit, in dist/; the wheel is made from the source distribution.
dist: $(RELEASE)/.ready
	rm -rf dist $(SOURCE)
	git clone --quiet . $(SOURCE)
	$(BUILD) --out-dir dist $(SOURCE)

# What an index refuses, and whether another clone gives the same wheel, byte by byte, without the source distribution.
release-check: dist
	$(RELEASE)/bin/twine check --strict dist/*
	rm -rf $(SOURCE)-again
	git clone --quiet . $(SOURCE)-again
	$(BUILD) --wheel --out-dir $(SOURCE)-again/dist $(SOURCE)-again
	cmp dist/*.whl $(SOURCE)-again/dist/*.whl

# The smallest environment for a CPU, with its size by package; TORCH has uv's options that say where torch comes from.
lean: dist
	rm -rf $(LEAN)
	PATH="$(CURDIR)/$(RELEASE)/bin:$$PATH" sh configs/deploy/lean.sh $(LEAN) dist/*.whl
	$(LEAN)/bin/python .ci/environment_size.py --most 900
	$(LEAN)/bin/nscma-torch demo

$(RELEASE)/.ready:
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/pip install --quiet uv==0.13.9 twine==7.0.0
	touch $@

bench: $(READY)
	$(RUN) kernels/bench.py

# On a CUDA machine with torch, triton, transformers and torch-geometric: installs and fetches nothing, ends within nine minutes.
GPU_OUT ?= kernels/results

gpu:
	PYTHONPATH=.:kernels $(PYTHON) -m eval.experiments.gpu.check --out $(GPU_OUT)

# The whole product with a real language model on a running server; about ten minutes with 1.5B parameters on two cores.
model: $(READY)
	OMP_NUM_THREADS=1 $(RUN) -m eval.experiments.model.acceptance $(if $(URL),--url $(URL)) $(if $(MODEL),--model $(MODEL)) $(if $(OUT),--out $(OUT))

clean:
	rm -rf $(VENV) $(PEERS:%=.venv-%) $(CHROMA) $(TITANS) $(LEAN) $(RELEASE) $(CACHE) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
