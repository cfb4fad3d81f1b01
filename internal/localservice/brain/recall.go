package brain

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// recalled is how many of the user's lines are listed, the newest of them.
const recalled = 8

// nothingYet is said when the user wants to hear of lines that are not there.
const nothingYet = "You haven't said anything before this."

// remember answers what only the thread can tell.
func (t *turn) remember() string {
	if name := nameIn(t.q.Text); name != "" {
		return fmt.Sprintf("Nice to meet you, %s. I'll remember your name.", name)
	}
	said := t.said(false)
	switch {
	case t.asks("my", "name") && (t.asks("what") || t.asks("what's") || t.asks("know") || t.asks("remember")):
		switch name, told := t.name(); {
		case name == "":
			return "You haven't told me your name yet."
		case told:
			return fmt.Sprintf("Your name is %s.", name)
		default:
			return fmt.Sprintf("Your name is %s; the page told me.", name)
		}
	case t.asks("did", "i", "say") && t.asks("first"):
		if len(said) == 0 {
			return nothingYet
		}
		return fmt.Sprintf("The first thing you said was: %s", said[0])
	case t.asks("did", "i") && (t.asks("just") || t.asks("last")) && (t.asks("say") || t.asks("ask")):
		if len(said) == 0 {
			return nothingYet
		}
		return fmt.Sprintf("You said: %s", said[len(said)-1])
	case t.asks("did", "you") && (t.asks("just") || t.asks("last")) && t.asks("say"):
		mine := t.said(true)
		if len(mine) == 0 {
			return "I haven't said anything before this."
		}
		return fmt.Sprintf("I said: %s", plain(mine[len(mine)-1]))
	case t.asks("we", "talk", "about"), t.asks("we", "talked", "about"), t.asks("have", "i", "asked"):
		return t.list(said)
	}
	return ""
}

// said returns what one side has said in the thread, oldest first.
func (t *turn) said(agent bool) []string {
	var list []string
	for _, line := range t.q.History {
		if line.Agent == agent {
			list = append(list, line.Text)
		}
	}
	return list
}

// name returns the user's name, "" when it is not known, and whether the user
// told it; otherwise the page did.
func (t *turn) name() (name string, told bool) {
	for _, text := range slices.Backward(t.said(false)) {
		if name := nameIn(text); name != "" {
			return name, true
		}
	}
	return format(t.q.Vars["user_name"]), false
}

// list tells what the user has said, as a list for somebody who reads.
func (t *turn) list(said []string) string {
	if len(said) == 0 {
		return nothingYet
	}
	var more string
	if n := len(said) - recalled; n > 0 {
		said, more = said[n:], fmt.Sprintf(", after %d more", n)
	}
	for i, text := range said {
		said[i] = shorten(oneLine(text), snippetLength)
	}
	if !t.reads() {
		return fmt.Sprintf("You said this%s: %s", more, strings.Join(said, "; "))
	}
	return fmt.Sprintf("You said this%s:\n\n- %s", more, strings.Join(said, "\n- "))
}

// nameIn finds the name in "my name is Sam".
func nameIn(text string) string {
	const phrase = "my name is "
	i := strings.Index(strings.ToLower(text), phrase)
	if i < 0 || i+len(phrase) > len(text) { // lower case may be of another length
		return ""
	}
	fields := strings.FieldsFunc(text[i+len(phrase):], func(r rune) bool { return !unicode.IsLetter(r) && r != '-' && r != '\'' })
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}
