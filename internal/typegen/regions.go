package main

import (
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/runtime/appinit"
)

// regionsText returns the text of regions.ts: where a page's two first requests go, which it
// makes while the program that has all rules is still being downloaded.
func regionsText() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "\n/** The region of a page that names none. */\nexport const defaultRegion = %q\n", appinit.DefaultRegion)
	b.WriteString("\n/** The addresses of each region, by the names of the options that replace them. */\n")
	b.WriteString("export const regions: Readonly<Record<string, Readonly<Record<\"agenticUrl\" | \"ovpUrl\", string>>>> = {\n")
	if err := writeAddresses(&b, appinit.Agentic, appinit.OVP); err != nil {
		return "", err
	}
	b.WriteString("\n/** The paths of the requests, after the address of their service. */\n")
	fmt.Fprintf(&b, "export const startWidgetSession = %q\nexport const initPath = %q\n", appinit.StartWidgetSession, appinit.InitPath)
	return b.String(), nil
}

// writeAddresses writes the entries and the end of an object with the addresses of each region:
// null for a service that it does not have.
func writeAddresses(b *strings.Builder, services ...appinit.Service) error {
	for _, code := range appinit.Regions() {
		addresses, err := appinit.Config{Region: &code}.Resolve()
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "  %s: {\n", code)
		for _, service := range services {
			address := "null"
			if base, err := addresses.Base(service); err == nil {
				address = fmt.Sprintf("%q", base)
			}
			fmt.Fprintf(b, "    %s: %s,\n", service, address)
		}
		b.WriteString("  },\n")
	}
	b.WriteString("}\n")
	return nil
}
