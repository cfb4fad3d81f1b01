# agentruntime: `make run` shows a live agent, `make check` is for the loop while
# working, `make test` proves the rest. Every target installs what it lacks (see
# tools/need.sh); docs/testing.md describes the tests.

.DEFAULT_GOAL := help

# npm leaves this file behind when it has installed what the lock file says.
NPM := js/node_modules/.package-lock.json
DOCS := tools/docs/node_modules/.package-lock.json
STATICCHECK := build/tools/staticcheck
WASMTEST := build/tools/wasmbrowsertest

# Linters, tests and the programs that tests start use the same flags, and those for the
# page the flags of the programs that are shipped, so that each package is compiled once
# for each target. They are those of the race detector, except in make test.
# It also turns on the checks of unsafe pointers, which double the time
# of tests that use SQLite, a translation of C: localservice/api took 67 s of a core with
# them and 32 s without. Without the race detector for SQLite alone the linker may take that
# package's copy of a generic function, such as one of sync/atomic, for the whole program,
# and races are reported that are none.
# A program with the race detector waits a second when it ends, for the reports of other
# goroutines: the packages of the main module took 73 s without a test, and 45 s with 20 ms.
RACE ?= CGO_ENABLED=1 GORACE=atexit_sleep_ms=20 GOFLAGS="-race -gcflags=modernc.org/...=-d=checkptr=0"
# Only the race detector needs cgo. The npm packages of the local service are compiled without
# it, and so is all the rest, so that no package is compiled once with and once without cgo.
export CGO_ENABLED := 0
JS := tools/wasm/env
# The packages that are compiled for the page, those of them that have code for it alone, and
# those whose tests a native test starts, together with the server that they need.
PAGE = $$($(JS) go list -deps -f '{{if .Module}}{{if .Module.Main}}{{.ImportPath}}{{end}}{{end}}' ./cmd/wasm ./cmd/chatwasm)
PAGE_CODE = $$(find cmd internal runtime -name '*_js*.go' | xargs -n 1 dirname | sort -u | paste -sd '|' -)
SERVED := /internal/fetch$$|/internal/socketio$$|/runtime/media$$
# Whole pages in a browser. CORE, the elements and conversations that switch between text
# and a face, is part of make test; the others alone take as long as make test should.
# They are in the module of e2e, so that others do not get what only tests depend on.
CORE := ./agent ./element
# Those of core that are slower, as they look at every state in every size, or at every frame, or press each button; part of make verify.
LOOKS := ^Test(SheetOf.*|NothingJumps|NoBlackFrameWhileThePictureIsReplaced|TheStateIsTrue|ToolsOf.*|Sharing)$$
SUITES := ./avatar ./chat ./hostile ./loader ./parts
# What that module has besides whole pages.
NATIVE := ./bench/... ./browsertest ./native ./pagetest
# $(call BOTH,command,packages) runs a command for all packages of the main module, and for
# these of e2e also if that fails.
BOTH = status=0; $(1) ./... || status=1; cd e2e && $(1) $(2) || status=1; exit $$status
# What only computes gives way to the tests that run beside it, which have media in real time.
YIELD := nice -n 19
# Most tests wait most of the time, for media in real time or for a browser, so more
# of them than cores run at once; with many more, they wait for the cores.
PARALLEL := -parallel 4

# internal/maketest counts events, and sets ONLY to run again what failed in e2e. vet-native and vet-page are more than what
# go test vets.
TEST = go test -vet=off $(if $(COUNT),-json) -timeout 15m
GOTEST = $(RACE) $(TEST)

.PHONY: help
help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

.PHONY: build
build: $(NPM) ## Put the WebAssembly files and the npm package into js/dist/
	npm --prefix js run --silent build

.PHONY: run
run: build ## Start the local service, and print where to talk to agents and where to build one
	tools/need.sh voice
	go build -o build/ ./cmd/localservice ./example/studio
	build/localservice -page-control -json | build/studio

BRIEF := An agent that helps the guests of a hotel.

.PHONY: run-quickstart
run-quickstart: build ## Make an agent from a sentence (BRIEF="…"), and print where to talk to it
	tools/need.sh voice
	go build -o build/localservice ./cmd/localservice
	AGENTRUNTIME_LOCAL=build/localservice node example/quickstart/create.mjs "$(BRIEF)"

.PHONY: run-scripted
run-scripted: build ## Start a site with a face that says what its server sends
	tools/need.sh voice
	go run ./example/scripted

.PHONY: run-tokenserver
run-tokenserver: build ## Start a site whose visitors sign in and have conversations of their own
	go run ./example/tokenserver

.PHONY: check
check: $(STATICCHECK) $(NPM) ## Vet, lint, and native tests without browsers
	go run ./internal/maketest vet-native vet-page format lint-native lint-page types native

# First what compiles everything, each in another way, beside what a new machine
# downloads; what follows finds it compiled. Without the race detector, under which make check
# and make verify run the same native tests: on two cores without compiled packages, make test
# took 11 min 29 s under it, and 7 min 37 s without. Three targets beside each other in place of two took longer.
.PHONY: test
test: export RACE :=
test: ## Vet, types, native tests, tests in a page, the npm package and the core of the whole pages, headless
	tools/need.sh node
	AGENTRUNTIME_REQUIRE_NODE=1 go run ./internal/maketest chromium vet-native build wasmtest then native-all core npm native-e2e page vet-page types

.PHONY: verify
verify: build ## What takes longer: the native tests under the race detector, the linters, all other whole pages, fresh projects, every fault of docs/resilience.md, a soak, Firefox and WebKitGTK, inputs of their own for the fuzz targets
	tools/need.sh browser
	AGENTRUNTIME_REQUIRE_NODE=1 go run ./internal/maketest suites lint-native fuzz native-all native-e2e page-plain k6-test lint-page format site then looks fresh browsers then faults soak profile-check then recordings otel-test

.PHONY: more
more: build # proofs that are slower still, or need a machine that does nothing else; before a release
	tools/need.sh browser
	AGENTRUNTIME_REQUIRE_NODE=1 go run ./internal/maketest race then page-faults then newcomer

.PHONY: bench
bench: build ## Measure beside plain JavaScript, and write docs/performance.md
	tools/need.sh browser
	@mkdir -p build/bench
	cd e2e && go run ./bench/connect -steady 30s -json ../build/bench/1-connect.json >/dev/null
	cd e2e && go run ./bench/stream -json ../build/bench/2-stream.json >/dev/null
	go run ./bench/native -json build/bench/3-native.json >/dev/null
	go run ./bench/chat -json build/bench/4-chat.json >/dev/null
	go run ./bench/report -table bench build/bench/[1-4]-*.json

.PHONY: generate
generate: ## Write generated files again
	go generate ./...

.PHONY: clean
clean: ## Remove what was built
	rm -rf build js/dist js/node_modules

# The parts of the above, each of which can be made alone.

.PHONY: chromium
chromium: # where it is missing
	tools/need.sh browser

.PHONY: core
core: # whole pages; most of a test is waiting for media in real time
	tools/need.sh browser
	cd e2e && $(GOTEST) -p 1 $(PARALLEL) -skip '$(LOOKS)' $(CORE) $(ONLY)

.PHONY: looks
looks: # the element in every state, size and theme; it waits for pictures with a time limit, so without the race detector
	tools/need.sh browser
	cd e2e && $(TEST) $(PARALLEL) -run '$(LOOKS)' ./element $(ONLY)

.PHONY: suites
suites: # the other whole pages
	tools/need.sh browser
	cd e2e && $(GOTEST) -p 1 $(PARALLEL) $(SUITES) $(ONLY)

# Conversations of every kind, from the start to the end: those that make the profile, and
# those of them of which none may wait for a second part. The worker's conversation is the only
# one with host names instead of addresses.
PROFILED := ^Test(AvatarAppearsAndSaysItsOpeningLine|APreparedSessionHasItsRelay|AudioOnlyAgentIsHeard|WithoutElementsThereAreTracks|TypedTurnIsAnsweredWithCaptionsInOrder|FakeSessionHasTheEventsOfARealOne|InterruptSilencesAtOnce|PauseIsQuietAndResumeGoesOn|SpeechCutsTheAgentAndIsAnswered|AWorkerConnectsWithoutANetwork|DeferredMicrophoneIsAskedForLater|BadTokenIsRefused|DroppedSocketIsRecovered|PageLeftBehindTellsTheService|HiddenPageCompletesAfterItsGrace|OneTurnInEveryWay|ToolsUseThePage|EveryWidgetIsDrawn|ConversationByKeyboard|ServiceIsAway|ConversationOutlivesReload|OneConversationOverBothTransports|OneTagIsALiveFace|ChatBeginsWithItsFirstMessage|NoStartFailsInSilence|APageComesBackFromTheCacheInEveryPhase|StatesOfAFace|MovedAndRemoved|BlockedSoundWaitsForAKey|FaceThatIsNotThere|ExampleOfAFaceWithoutSound|Preload|FirstCallsNeedNoSecondPart)$$
SCENARIOS := ^Test(AWorkerConnectsWithoutANetwork|AvatarAppearsAndSaysItsOpeningLine|AudioOnlyAgentIsHeard|TypedTurnIsAnsweredWithCaptionsInOrder|BadTokenIsRefused|PageLeftBehindTellsTheService|OneTurnInEveryWay|ServiceIsAway|OneConversationOverBothTransports|OneTagIsALiveFace|ChatBeginsWithItsFirstMessage|NoStartFailsInSilence|StatesOfAFace|BlockedSoundWaitsForAKey)$$
SCENES := ./agent ./avatar ./chat ./element

.PHONY: profile
profile: $(NPM) # which functions the programs call in conversations until their second parts are there: their first parts
	tools/need.sh browser
	cd js && node build.mjs counting
	rm -rf build/profile && mkdir -p build/profile
	cd e2e && AGENTRUNTIME_PROFILE=$(CURDIR)/build/profile $(GOTEST) -count 1 -p 1 $(PARALLEL) -run '$(PROFILED)' $(SCENES) ./hostile
	node tools/wasm/link/profile.mjs js/dist build/profile tools/wasm/profile
	npm --prefix js run --silent build

.PHONY: profile-check
profile-check: # that no conversation waits for the second part of a program
	tools/need.sh browser
	cd e2e && AGENTRUNTIME_PROFILE=check $(GOTEST) -count 1 -p 1 $(PARALLEL) -run '$(SCENARIOS)' $(SCENES) $(ONLY)

.PHONY: whole
whole: $(NPM) # build programs of one part, for comparison
	cd js && node build.mjs whole

.PHONY: cold
cold: $(NPM) # whole pages with programs whose first parts have as little as possible, and whose second parts come 5 s late
	tools/need.sh browser
	cd js && node build.mjs cold
	cd e2e && $(GOTEST) -count 1 -p 1 $(PARALLEL) ./loader
	cd e2e && AGENTRUNTIME_LATE=1 $(GOTEST) -count 1 -p 1 $(PARALLEL) -skip '^Test(AWorkerConnectsWithoutANetwork|FirstCallsNeedNoSecondPart|AClosedTabTellsOfItsEndWhileTheProgramWaits)$$' $(CORE) ./avatar ./chat
	npm --prefix js run --silent build

.PHONY: native
native:
	$(call BOTH,$(GOTEST) $(PARALLEL) -short,$(NATIVE))

.PHONY: native-all
native-all: # native tests, also those that take long, without the agents that listen to each other
	$(GOTEST) $(PARALLEL) $$(go list ./... | grep -v '/example/twoagents$$')

.PHONY: native-e2e
native-e2e: # the same in the module of e2e: native sessions, and the driver of the browser
	tools/need.sh browser
	cd e2e && $(GOTEST) $(PARALLEL) $(NATIVE) $(ONLY)

.PHONY: recordings
recordings: # whole conversations, recorded and replayed, and two agents that listen to each other; on a machine that is too busy, its pauses are taken for ends of turns
	$(GOTEST) ./example/twoagents
	cd e2e && $(GOTEST) ./recordings $(ONLY)

.PHONY: page
page: $(WASMTEST) # tests of packages with code for the page alone, in a page
	tools/need.sh browser
	$(JS) $(TEST) -exec "$$PWD/tools/wasm/exec" $$(echo "$(PAGE)" | grep -E "/($(PAGE_CODE))$$" | grep -vE '$(SERVED)')

.PHONY: page-plain
page-plain: $(WASMTEST) # the same for the other packages, which are the same code natively
	tools/need.sh browser
	$(JS) $(TEST) -exec "$$PWD/tools/wasm/exec" $$(echo "$(PAGE)" | grep -vE "/($(PAGE_CODE))$$")

.PHONY: vet-native
vet-native:
	$(call BOTH,$(RACE) go vet,./...)

.PHONY: vet-page
vet-page:
	$(JS) go vet $(PAGE)

.PHONY: lint-native
lint-native: $(STATICCHECK)
	$(call BOTH,$(RACE) $(YIELD) $(CURDIR)/$(STATICCHECK),./...)

.PHONY: lint-page
lint-page: $(STATICCHECK)
	$(JS) $(YIELD) $(STATICCHECK) $(PAGE)

.PHONY: wasmtest
wasmtest: $(WASMTEST) # what runs tests in a page

.PHONY: format
format: $(STATICCHECK)
	@files=$$(build/tools/gofumpt -l $$(ls -d */ | grep -vx build/)); test -z "$$files" || { echo "not formatted: $$files"; exit 1; }

.PHONY: types
types: $(NPM)
	npm --prefix js run --silent check

.PHONY: sizes
sizes: $(NPM)
	npm --prefix js run --silent sizes

.PHONY: npm
npm: $(NPM) # with the flags of the native tests, whose compiled packages the local service is built of
	@mkdir -p build
	$(RACE) npm --prefix js run --silent test >build/npm.tap || { cat build/npm.tap; exit 1; }
	@grep -E '^# (pass|fail|skipped) ' build/npm.tap

.PHONY: faults
faults: # every fault of docs/resilience.md, whose list is written again
	cd e2e && $(if $(COUNT),$(GOTEST),$(TEST)) -count 1 -skip 'TestSoak|TestElement' -parallel 8 ./faults -all $(if $(COUNT),,-write $(CURDIR)/docs/resilience.md) $(ONLY)

.PHONY: page-faults
page-faults: # the same faults, with an element in a page that is looked at all the time
	tools/need.sh browser
	cd e2e && $(GOTEST) -count 1 -run TestElement -parallel 6 ./faults -all $(ONLY)

SOAK := 1m

.PHONY: packages
packages: build ## Put the npm packages of the local service into build/packages/, for every platform
	node js/local/build.mjs

.PHONY: docs
docs: build ## Make the docs as a site in build/docs/, with a search and a playground; a link to a page that is missing fails
	$(MAKE) --no-print-directory docs-pages

.PHONY: docs-pages
docs-pages: $(DOCS) # the site, with the package in js/dist/ as it was built
	npm --prefix tools/docs run --silent build

# Not after docs: in make verify whole pages load the files of js/dist/ at the same time.
.PHONY: site
site: docs-pages # the playground of the docs, in the site as it was made
	tools/need.sh browser
	cd e2e && $(GOTEST) -count 1 ./site $(ONLY)

.PHONY: page-tests
page-tests: build # the tests of example/testing, with the packages as published; needs npm's registry
	tools/need.sh browser
	cd e2e && $(GOTEST) -count 1 -run TestPagesOwnTests ./fresh

.PHONY: fresh
fresh: # projects that install the package, with each bundler; needs npm's registry
	tools/need.sh browser
	cd e2e && $(GOTEST) -count 1 -parallel 4 ./fresh $(ONLY)

.PHONY: screenshots
screenshots: build # the pictures of README and docs
	tools/need.sh browser
	cd e2e && go test -count 1 ./screenshots

.PHONY: k6
k6: ## Build build/k6, which is k6 with sessions of the runtime in its scripts (docs/load.md)
	@mkdir -p build
	cd k6 && go build -o ../build/k6 ./cmd/k6

# k6/ is a module of its own, so that the others do not get k6's dependencies.
.PHONY: k6-test
k6-test: # scripts of k6 against the local service, also divided between two processes
	cd k6 && $(RACE) $(YIELD) go vet ./... && $(GOTEST) -count 1 .

# otel/ is one too, because of OpenTelemetry's.
.PHONY: otel-test
otel-test: # the spans and histograms of conversations with the local service
	cd otel && $(RACE) go vet ./... && $(GOTEST) -count 1 .

.PHONY: soak
soak: # faults at random, for native sessions and one page
	cd e2e && $(GOTEST) -count 1 -run TestSoak ./faults -soak $(SOAK) -sessions 4 -page $(ONLY)

.PHONY: browsers
browsers: # the core of the whole pages, in Firefox and WebKitGTK
	tools/need.sh firefox
	tools/need.sh webkit
	cd e2e && AGENTRUNTIME_REQUIRE_NODE=1 $(GOTEST) -count 1 ./browsers $(ONLY)

# How many pairs of tabs end together; with the other whole pages eight.
PAIRS := 24

.PHONY: tabs
tabs: # pairs of tabs with one thread that end together
	cd e2e && AGENTRUNTIME_DOUBLE_CLOSES=$(PAIRS) $(GOTEST) -timeout 30m -v -run TestTabsThatGoTogether ./hostile

# How many random orders of all methods; with the other whole pages 500. SEED, which a run
# prints, and FROM repeat one.
ORDERS := 10000
SEED :=
FROM := 0

define in_random_orders
tools/need.sh browser
cd e2e && AGENTRUNTIME_ORDERS=$(ORDERS) AGENTRUNTIME_ORDERS_SEED=$(SEED) AGENTRUNTIME_ORDERS_FROM=$(FROM) \
	$(GOTEST) -count 1 -timeout 60m -v -run $(1) ./hostile
endef

.PHONY: orders
orders: # sessions whose methods are called in random orders, after which nothing may be left
	$(call in_random_orders,TestNothingIsLeftAfterAnyOrder)

.PHONY: element-orders
element-orders: ORDERS := 120
element-orders: # elements that visitors and pages use in random orders, after which each does what it says
	$(call in_random_orders,TestElementsAfterAnyOrder)

.PHONY: part-orders
part-orders: ORDERS := 120
part-orders: # parts and components of React that visitors and pages use in random orders
	$(call in_random_orders,TestPartsAfterAnyOrder)

.PHONY: race
race: # data races that one run in one order does not show
	$(GOTEST) $(PARALLEL) -short -count 3 -shuffle on ./runtime/...

.PHONY: newcomer
newcomer: # what one client can take, and 20 of them and a newcomer; it measures time, so without the race detector, and alone
	$(TEST) -count 1 -run TestWhatOneClientTakes ./internal/localservice -alone
	cd e2e && $(TEST) -count 1 -run TestANewcomerAmongHostileClients ./native -alone $(ONLY)

# Each fuzz target runs its seeds with the other tests; here it also runs this many
# inputs of its own. A time instead would now and then end a run with an error.
FUZZTIME := 1000x
# `go test -fuzz` would instrument every dependency and the standard library: that takes
# minutes to compile, and most of what then counts as new is not code of ours.
INSTRUMENT := -gcflags=github.com/agentruntime/agentruntime/...=-d=libfuzzer

# Without the race detector, which would make each input ten times as slow.
.PHONY: fuzz
fuzz:
	@mkdir -p build/fuzz
	for dir in $$(grep -rlE --include='*_test.go' '^func Fuzz' cmd internal runtime | xargs -n 1 dirname | sort -u); do \
		$(YIELD) go test -c $(INSTRUMENT) -o build/fuzz.test ./$$dir || exit 1; \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9]*\).*/\1/p' $$dir/*_test.go); do \
			(cd $$dir && $(YIELD) $(if $(COUNT),go tool test2json -t -p ./$$dir) $(CURDIR)/build/fuzz.test $(if $(COUNT),-test.v=test2json) -test.run '^$$' \
				-test.fuzz "^$$target$$" -test.fuzztime $(FUZZTIME) -test.fuzzminimizetime 0x -test.fuzzcachedir $(CURDIR)/build/fuzz/$$dir) || exit 1; \
		done; \
	done
	$(TEST) -run TestIsolation ./internal/localservice/api -isolation-calls 30000
	$(TEST) -run TestHostileScriptsCostLittle ./internal/localservice/brain -all-pairs

# How often the connection is cut around a typed turn; with the other tests, 40 times.
CUTS := 1000

.PHONY: cuts
cuts:
	cd e2e && AGENTRUNTIME_CUTS=$(CUTS) $(GOTEST) -run '^TestNoTypedTurnIsLost$$' ./native

# How long one session talks; in make bench, less than a minute.
STEADY := 10m

.PHONY: bench-steady
bench-steady: build # whether a session that talks for long grows
	tools/need.sh browser
	@mkdir -p build/bench
	cd e2e && go run ./bench/connect -rows "" -steady $(STEADY) -json ../build/bench/steady.json >/dev/null
	go run ./bench/report -table bench-steady build/bench/steady.json

# Whole pages again and again, while both cores are kept busy: a test that depends on
# the speed of the machine fails. Ten minutes for each run of a suite.
REPEAT := 2
BUSY := 2

.PHONY: repeat
repeat: build
	tools/need.sh browser
	@for i in $$(seq $(BUSY)); do while kill -0 $$$$; do :; done 2>/dev/null & done; \
	cd e2e && $(GOTEST) -timeout $(REPEAT)0m -count $(REPEAT) $(CORE) $(SUITES)

$(NPM): js/package.json js/package-lock.json
	tools/need.sh node
	npm --prefix js ci --no-fund --no-audit
	@touch $@

$(DOCS): tools/docs/package.json tools/docs/package-lock.json
	tools/need.sh node
	npm --prefix tools/docs ci --no-fund --no-audit
	@touch $@

$(STATICCHECK): tools/go.mod # and gofumpt
	go build -modfile=tools/go.mod -o build/tools/ honnef.co/go/tools/cmd/staticcheck mvdan.cc/gofumpt
	@touch $@

$(WASMTEST): tools/go.mod
	go build -modfile=tools/go.mod -o build/tools/ github.com/agnivade/wasmbrowsertest
	@touch $@
