# agentruntime: `make run` shows a live agent, `make test` proves everything.
# Both install what they lack; see tools/need.sh.

.DEFAULT_GOAL := help

# npm leaves this file behind when it has installed what the lock file says.
NPM := js/node_modules/.package-lock.json

.PHONY: help
help: ## List the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 10

.PHONY: build
build: $(NPM) ## Put the WebAssembly files and the npm package into js/dist/
	npm --prefix js run --silent build

.PHONY: run
run: build ## Start the local service and print the addresses of pages with a live agent
	tools/need.sh voice
	go run ./cmd/localservice

.PHONY: test
test: build ## Run every test and check, headless
	tools/need.sh browser
	AGENTRUNTIME_REQUIRE_NODE=1 go run ./internal/maketest

.PHONY: lint
lint: $(NPM) ## Run the linters alone
	go run ./internal/maketest lint

.PHONY: generate
generate: ## Write generated files again
	go generate ./...

.PHONY: clean
clean: ## Remove what was built
	rm -rf build js/dist js/node_modules

$(NPM): js/package.json js/package-lock.json
	tools/need.sh node
	npm --prefix js ci --no-fund --no-audit
	@touch $@
