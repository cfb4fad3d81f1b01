package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"math/big"
)

// firstConfigID is the brain configuration of the first seed agent; the others
// count up from it.
const firstConfigID = 1001

// seed adds a partner and the built-in agents to an empty database. Their ids are
// generated once and stay the same for the life of the file.
func (s *Store) seed(ctx context.Context) error {
	if err := s.seedShared(ctx); err != nil {
		return err
	}
	partners, err := s.Partners(ctx)
	if err != nil || len(partners) > 0 {
		return err
	}
	partner, err := newPartner()
	if err != nil {
		return err
	}
	// All of it or nothing: a crash here must not leave a partner without agents.
	return s.tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO partners (id, secret) VALUES (?, ?)`, partner.ID, partner.Secret); err != nil {
			return err
		}
		for i, agent := range builtIns() {
			if err := s.build(ctx, tx, partner.ID, firstConfigID+int64(i), agent); err != nil {
				return err
			}
		}
		return nil
	})
}

// newPartner generates an account: a seven-digit id and a 128-bit secret.
func newPartner() (Partner, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(9_000_000))
	if err != nil {
		return Partner{}, err
	}
	secret := make([]byte, 16)
	rand.Read(secret)
	return Partner{ID: 1_000_000 + n.Int64(), Secret: hex.EncodeToString(secret)}, nil
}

// Names of the built-in agents.
const (
	Receptionist = "receptionist" // opening phrase, follow-ups, knowledge
	Silent       = "silent"       // says nothing first, for a kickoff
	Tap          = "tap"          // tap-to-talk
	Audio        = "audio"        // voice without a picture
	Tools        = "tools"        // client tools and follow-ups
	NoVars       = "novars"       // refuses client variables
)

const directive = `You are {{ agent_name }}, the demo agent of agentruntime's local service. ` +
	`Answer in one to three short sentences. Say so when you don't know.`

// calendar demonstrates a tool that needs the user's consent (protocol §10.8). The
// tool is simulated.
const calendar = `rules:
  - when: {contains: connect my calendar}
    steps:
      - consent:
          tool: calendar
          name: Your calendar
          ask: I may not look into your calendar before you allow it. Allow it on the page that I show you, and ask me again.
      - say: "Your calendar is connected. It is a simulated one: this shows how consent works."
`

// builtIn is an agent of a new database.
type builtIn struct {
	name        string
	intellect   Intellect // its name is that of the agent
	tools       []Tool
	screenShare bool
	voiceOnly   bool // without a picture
}

func builtIns() []builtIn {
	receptionist := persona("Robin", "Hello {{ user_name | default('there') }}! I'm Robin, the demo receptionist. How can I help you?")
	receptionist.Starters = []string{"What is agentruntime?", "What can you do?", "How do I add an agent to my page?"}

	tap := persona("Toni", "Hello! Hold the button while you speak.")
	tap.TapToTalk = true

	tools := persona("Taylor", "Hello! I can use the tools of this page. Ask me to save a note, or to go to a page.")
	tools.CameraAnalysis = true
	tools.Starters = []string{"Save a note: call back tomorrow", "Go to page 4"}
	tools.Script = calendar

	noVars := persona("Noel", "Hello! I don't take variables from a page.")
	noVars.AllowClientVariables = false

	return []builtIn{
		{name: Receptionist, intellect: receptionist},
		{name: Silent, intellect: persona("Sam", "<blank>")},
		{name: Tap, intellect: tap},
		{name: Audio, intellect: persona("Ash", "Hello! You can hear me, but you can't see me."), voiceOnly: true},
		{name: Tools, intellect: tools, tools: clientTools(), screenShare: true},
		{name: NoVars, intellect: noVars},
	}
}

// persona is the intellect of a built-in agent with that name.
func persona(name, opening string) Intellect {
	in := NewIntellect()
	in.Name, in.OpeningPhrase, in.BaseDirective = name, &opening, directive
	in.Capabilities = map[string]string{"generate_followup_questions": "on"}
	in.KnowledgeIDs = []int64{DocumentsID}
	return in
}

func clientTools() []Tool {
	tool := func(name, description, args string, timeout int) Tool {
		return Tool{name, ToolConfig{
			ToolName: name, Description: description, Type: ClientTool, Args: json.RawMessage(args), WaitForResponse: timeout > 0, TimeoutSeconds: timeout,
		}}
	}
	return []Tool{
		tool("save_note", "Saves a note on the page and reports whether it worked.", `{"note":{"prompt":"The text of the note.","type":"str","required":true}}`, 10),
		tool("get_weather", "Asks the page for the weather in a place.", `{"place":{"prompt":"The place.","type":"str","required":true}}`, 10),
		tool("go_to_page", "Turns to a page of the document that is shown.", `{"page":{"prompt":"The number of the page, from 1.","type":"int","required":true}}`, 0),
		tool("highlight", "Highlights a part of the page.", `{"text":{"prompt":"The text of that part.","type":"str","required":true}}`, 0),
	}
}
