package main

import (
	"fmt"
	"strings"
	"testing"
)

// Each kind of record is made from a file, listed, changed and deleted.
func TestRecords(t *testing.T) {
	r := newRig(t)
	for _, test := range []struct {
		group, create, update, field string // the update sets the field
	}{
		{"tools", `{"name": "show_map", "config": {"type": "client", "description": "Shows a place.", "args": {"place": {"prompt": "The place.", "type": "str", "required": true}}}}`, `{"name": "show_city"}`, "name"},
		{"skills", `{"name": "booking", "description": "How to book.", "instructions": "Ask for the date."}`, `{"instructions": "Ask for the name."}`, "instructions"},
		{"insights", `{"key": "mood", "title": "Mood", "prompt": "How was the mood?", "valueType": "string"}`, `{"title": "The mood"}`, "title"},
		{"emails", `{"appGuid": "shop", "name": "thanks", "subject": "Thank you", "body": "Thanks.", "from": "shop@example.com", "language": "en"}`, `{"subject": "Many thanks"}`, "subject"},
	} {
		id := fmt.Sprint(r.object(test.group, "create", "-file", r.file("new.json", test.create))["id"])
		if list := r.ok(test.group, "list"); !strings.Contains(list, id) {
			t.Errorf("%s list\n%s", test.group, list)
		}
		before := r.object(test.group, "get", id)[test.field]
		changed := r.object(test.group, "update", id, "-file", r.file("patch.json", test.update))[test.field]
		if changed == before || !strings.Contains(test.update, fmt.Sprint(changed)) {
			t.Errorf("%s: %s was %v and is %v", test.group, test.field, before, changed)
		}
		r.fails(statusUsage, "unknown field", test.group, "update", id, "-file", r.file("wrong.json", `{"nothing": 1}`))
		r.fails(statusUsage, `required flag "file" not set`, test.group, "create")
		r.fails(statusFailed, "here that is -yes", test.group, "delete", id)
		r.ok(test.group, "delete", id, "-yes")
		r.fails(statusFailed, "not_found", test.group, "get", id)
	}
}

func TestRules(t *testing.T) {
	r := newRig(t)
	insight := fmt.Sprint(r.object("insights", "create", "-file",
		r.file("i.json", `{"key": "mood", "title": "Mood", "prompt": "How was the mood?", "valueType": "string"}`))["id"])
	if fields := r.ok("rules", "fields"); !strings.Contains(fields, "object.agent_id") {
		t.Errorf("fields\n%s", fields)
	}
	receptionist, _ := r.info.Agent("receptionist")
	rule := fmt.Sprint(r.object("rules", "create", "-file", r.file("r.json", `{
		"name": "mood", "eventType": "session_ended",
		"conditions": [{"field": "object.agent_id", "operator": "equals", "value": "`+receptionist.AgentID+`"}],
		"actions": [{"type": "triggerInsightSettingsKai", "insightSettingIds": ["`+insight+`"]}]}`))["id"])
	r.fails(statusFailed, "here that is -force", "insights", "delete", insight, "-yes")

	token := strings.TrimSpace(r.ok("tokens", "agent", "-agent", receptionist.AgentID, "-user", "ann"))
	thread := ask(t, r.info.GenieURL, token, "Hello")
	if matched := r.ok("rules", "match", thread, "session_ended"); !strings.Contains(matched, rule) {
		t.Errorf("matched\n%s", matched)
	}
	r.ok("rules", "update", rule, "-file", r.file("off.json", `{"status": "disabled"}`))
	if matched := r.ok("rules", "match", thread, "session_ended"); strings.Contains(matched, rule) {
		t.Errorf("a disabled rule matched\n%s", matched)
	}
	r.ok("rules", "delete", rule, "-yes")
	r.ok("insights", "delete", insight, "-yes")
}

func TestFeedback(t *testing.T) {
	r := newRig(t)
	receptionist, _ := r.info.Agent("receptionist")
	token := strings.TrimSpace(r.ok("tokens", "agent", "-agent", receptionist.AgentID, "-user", "ann"))
	thread := ask(t, r.info.GenieURL, token, "Hello")
	var message string
	for line := range strings.Lines(r.ok("threads", "messages", thread)) {
		if words := strings.Fields(line); len(words) > 1 && words[1] == "ai" {
			message = words[0]
		}
	}
	r.ok("feedback", "add", message, "bad", "-comment", "too short")
	for _, args := range [][]string{nil, {"-thread", thread}, {"-message", message}, {"-agent", receptionist.AgentID}, {"-rating", "bad"}} {
		if list := r.ok(append([]string{"feedback", "list"}, args...)...); !strings.Contains(list, "too short") {
			t.Errorf("feedback list %v\n%s", args, list)
		}
	}
	if list := r.ok("feedback", "list", "-rating", "good"); strings.Contains(list, message) {
		t.Errorf("good ratings\n%s", list)
	}
	r.fails(statusUsage, "must be good or bad", "feedback", "list", "-rating", "5")
	r.fails(statusUsage, "must be good or bad", "feedback", "add", message, "5")
}

func TestProvision(t *testing.T) {
	r := newRig(t)
	file := r.file("ada.json", `{"displayName": "Ada", "directive": "You help guests.", "adminTags": ["test"],
		"tools": [{"name": "show_map", "config": {"type": "client", "description": "Shows a place."}}]}`)
	made := r.object("provision", "-file", file, "-name", "Eve", "-key", "one")
	agent := fmt.Sprint(made["agentId"])
	if a := r.object("agents", "get", agent); a["displayName"] != "Eve" || fmt.Sprint(a["adminTags"]) != "[test]" {
		t.Errorf("agent %v", a)
	}
	if widget := r.ok("agents", "widget", agent); strings.TrimSpace(widget) != made["widgetId"] {
		t.Errorf("widget %q, made %v", widget, made)
	}
	if again := r.object("provision", "-file", file, "-name", "Eve", "-key", "one"); again["agentId"] != agent {
		t.Errorf("the same call again made %v", again)
	}
	if of := r.object("provision", "-description", "A concierge named Mira for hotel guests."); of["name"] != "Mira" || of["widgetId"] == nil {
		t.Errorf("made of a sentence %v", of)
	}
	r.fails(statusFailed, "bad_request", "provision", "-name", "Eve")

	// Fields without a flag of their own are in files.
	r.ok("agents", "update", agent, "-file", r.file("a.json", `{"maxConversationLength": 60}`), "-name", "Ada")
	if a := r.object("agents", "get", agent); a["displayName"] != "Ada" || a["maxConversationLength"] != 60.0 {
		t.Errorf("agent %v", a)
	}
	avatar := fmt.Sprint(made["avatarId"])
	if a := r.object("avatars", "update", avatar, "-file", r.file("v.json", `{"name": "Ada's face"}`)); a["name"] != "Ada's face" {
		t.Errorf("avatar %v", a)
	}
	if list := r.ok("avatars", "catalog", "-type", "Voice"); !strings.Contains(list, "Voice") || strings.Contains(list, "Visual") {
		t.Errorf("catalog\n%s", list)
	}
}
