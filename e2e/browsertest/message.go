//go:build !js

package browsertest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// Types of a Message that are not a console method.
const (
	// TypeException marks an exception or a rejected promise that the page
	// did not catch.
	TypeException = "exception"
	// TypeDialog marks an alert, confirm, prompt or beforeunload dialog. Dialogs
	// are accepted at once, because they would block the page.
	TypeDialog = "dialog"
)

// Message is one entry of a page's console.
type Message struct {
	// Type is the console method ("log", "debug", "info", "warning",
	// "error", …), the level of a browser's own entry ("verbose", "info",
	// "warning", "error"), TypeException or TypeDialog.
	Type string
	// Text is the text as the console shows it, for an exception with its stack.
	Text string
	// Source is the part of the browser that an entry of the browser's own is from,
	// such as "network" or "security". It is empty for messages of scripts.
	Source string
	// URL is the script or resource concerned, if known.
	URL string
}

// String returns the message as one log entry: "[error network] text".
func (m Message) String() string {
	if m.Source == "" {
		return fmt.Sprintf("[%s] %s", m.Type, m.Text)
	}
	return fmt.Sprintf("[%s %s] %s (%s)", m.Type, m.Source, m.Text, m.URL)
}

func consoleMessage(e *runtime.EventConsoleAPICalled) Message {
	words := make([]string, len(e.Args))
	for i, arg := range e.Args {
		words[i] = consoleText(arg)
	}
	m := Message{Type: string(e.Type), Text: strings.Join(words, " ")}
	if e.StackTrace != nil && len(e.StackTrace.CallFrames) > 0 {
		m.URL = e.StackTrace.CallFrames[0].URL
	}
	return m
}

func exceptionMessage(e *runtime.ExceptionDetails) Message {
	m := Message{Type: TypeException, Text: e.Text, URL: e.URL}
	if e.Exception != nil {
		m.Text += " " + consoleText(e.Exception)
	}
	return m
}

func entryMessage(e *log.Entry) Message {
	return Message{Type: string(e.Level), Text: e.Text, Source: string(e.Source), URL: e.URL}
}

func dialogMessage(e *page.EventJavascriptDialogOpening) Message {
	return Message{Type: TypeDialog, Text: string(e.Type) + ": " + e.Message, URL: e.URL}
}

// consoleText renders a value as the console does: strings bare, objects by
// their description and first properties.
func consoleText(o *runtime.RemoteObject) string {
	switch {
	case o.UnserializableValue != "":
		return string(o.UnserializableValue)
	case o.Type == runtime.RemoteObjectTypeString:
		var s string
		if err := json.Unmarshal(o.Value, &s); err == nil {
			return s
		}
		return string(o.Value)
	case o.Type == runtime.RemoteObjectTypeUndefined:
		return "undefined"
	case len(o.Value) > 0:
		return string(o.Value)
	case o.Preview == nil || o.Subtype == runtime.RemoteObjectSubtypeError:
		return o.Description
	}
	var b strings.Builder
	b.WriteString(o.Description + " {")
	for i, p := range o.Preview.Properties {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.Name + ": " + p.Value)
	}
	if o.Preview.Overflow {
		b.WriteString(", …")
	}
	return b.String() + "}"
}
