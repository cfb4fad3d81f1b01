//go:build !js

package main

import "github.com/agentruntime/agentruntime/internal/page"

func main() { page.Main("", nil) }
