package hostile

import (
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/must"
)

// composedInPage is how many sequences run in one page, all at once. TestPartsAfterAnyOrder has one page,
// unless AGENTRUNTIME_ORDERS is set.
const composedInPage = 12

// withReact is a page whose modules can import React, from a bundle beside it.
const withReact = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Parts</title><link rel="icon" href="data:,">
<link rel="stylesheet" href="/js/dist/ui.css"><script type="importmap">{"imports": {"react": "/react.js"}}</script>`

// react exports what the package and the test use of React, with its warnings.
const react = `import * as React from "react"
export const {Activity, createElement, Fragment, startTransition, StrictMode, Suspense, use, useEffect, useImperativeHandle, useLayoutEffect, useRef, useState, useSyncExternalStore} = React
export {createRoot} from "react-dom/client"`

// TestPartsAfterAnyOrder uses the parts around a session, alone and as components of React, in random orders:
// each text that a visitor typed is in a log or in its field, a part shows what a new one shows, a component has
// at most one session and the values of it, and nothing is left.
func TestPartsAfterAnyOrder(t *testing.T) {
	bundle := exec.CommandContext(t.Context(), "node_modules/.bin/esbuild", "--bundle", "--format=esm", `--define:process.env.NODE_ENV="development"`)
	bundle.Dir = "../../js"
	bundle.Stdin = strings.NewReader(react)
	module := must.Get(bundle.Output())(t)
	inPages(t, composedInPage, composedInPage, func(t *testing.T, seed, from, to int) {
		h, p := openForOrders(t, 0)
		h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
			body, known := map[string]string{"/parts.html": withReact, "/react.js": string(module)}[r.URL.Path]
			if !known {
				return false
			}
			if r.URL.Path == "/react.js" {
				w.Header().Set("Content-Type", "text/javascript")
			}
			fmt.Fprint(w, body)
			return true
		})
		p.Navigate(h.URL + "/parts.html")
		var got struct{ Faults, Left []string }
		p.Do(&got, fmt.Sprintf(`
			const {createRoot} = await import("react")
			createRoot(document.createElement("p")).unmount() // it listens to the document for good
			const {runComposed} = await import("`+folder+`composed.js")
			await load()
			const init = await arrive()
			const before = {...await holdings(), listeners: Infinity} // those of an element end with it
			const faults = await runComposed(%d, %d, %d, init)
			return {faults, left: await left(before)}`, seed, from, to))
		for _, fault := range slices.Concat(got.Faults, got.Left) {
			t.Error(fault)
		}
		h.AwaitNoSessions(h.Context())
	})
}
