// Command k6 is k6 with the module k6/x/agentruntime in it. It must not do anything else.
package main

import (
	"go.k6.io/k6/v2/cmd"

	_ "github.com/agentruntime/agentruntime/k6"
)

func main() { cmd.Execute() }
