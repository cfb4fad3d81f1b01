package store

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/agentruntime/agentruntime/internal/expect"
	"github.com/agentruntime/agentruntime/internal/must"
)

// TestAppearanceOfAnAgent: the profile of an agent has the voice, the speed, the face, the motion and the opening phrase of
// its avatar.
func TestAppearanceOfAnAgent(t *testing.T) {
	s := open(t)
	ctx, partner := t.Context(), onlyPartner(t, s).ID
	stored := Avatars(s)
	stored.references = nil // as in data of an older version
	create := func(in Intellect, avatars ...Avatar) Profile {
		t.Helper()
		intellect := must.Get(Intellects(s).Create(ctx, partner, in))(t)
		record := AgentRecord{AgentFields: AgentFields{DisplayName: "Eve", Intellect: IntellectRef{ID: intellect.Number()}}, WidgetID: UUID()}
		for _, a := range avatars {
			r := must.Get(stored.Create(ctx, partner, a))(t)
			record.AvatarIDs = append(record.AvatarIDs, r.ID)
		}
		r := must.Get(AgentRecords(s).Create(ctx, partner, record))(t)
		agent := must.Get(s.Agent(ctx, partner, r.ID))(t)
		return agent.Profile
	}
	speed, phrase := 1.2, "Welcome."
	ben := Avatar{
		Name: "Ben", Voice: AvatarVoice{ID: "5ac0000000000000000000b2", Speed: &speed}, OpeningPhrase: "Good day.",
		Visual: &Visual{ID: "5ac0000000000000000000a4", MotionControl: json.RawMessage(`{"speaking":0.6,"nonSpeaking":0,"other":"x"}`)},
	}
	p := create(NewIntellect(), ben)
	a := p.Avatar
	if a == nil || a.VoiceName != "Deep" || a.VoiceLanguage != "en" || a.VoiceID != ben.Voice.ID || a.Speed != speed || a.Face != "Ben" || a.Name != "Ben" ||
		a.Speaking == nil || *a.Speaking != 0.6 || a.NonSpeaking == nil || *a.NonSpeaking != 0 || p.AudioMode {
		t.Errorf("appearance %+v", a)
	}
	expect.Equal(t, p.Opening, "Good day.", "the intellect has no opening phrase")
	in := NewIntellect()
	in.OpeningPhrase = &phrase
	if p := create(in, ben); p.Opening != phrase {
		t.Errorf("the intellect has an opening phrase: %q", p.Opening)
	}
	if p := create(NewIntellect()); p.Avatar != nil || p.Opening != DefaultOpening || !p.AudioMode {
		t.Errorf("no avatar: %+v, %q", p.Avatar, p.Opening)
	}
	gone := Avatar{Voice: AvatarVoice{ID: HexID()}, Visual: &Visual{ID: HexID(), MotionControl: json.RawMessage(`{"speaking":9}`)}}
	if a := create(NewIntellect(), gone).Avatar; a == nil || a.VoiceName != "" || a.Face != "Robin" || a.Speaking != nil {
		t.Errorf("items that no longer exist: %+v", a)
	}
}

// TestNearestFace: a visual that was uploaded is drawn as the preset that it resembles.
func TestNearestFace(t *testing.T) {
	for _, tt := range []struct {
		attributes map[string]string
		want       string
	}{
		{nil, "Robin"},
		{map[string]string{"name": "Ben"}, "Robin"},
		{map[string]string{"genderPresentation": "Masculine"}, "Ben"},
		{map[string]string{"genderPresentation": "Feminine", "skinTone": "Dark", "ageGroup": "YoungAdult"}, "Noor"},
		{map[string]string{"genderPresentation": "Feminine", "skinTone": "Medium", "clothing": "formal"}, "Ada"},
		{map[string]string{"skinTone": "Light", "hairColor": "Brown"}, "Robin"},
		{presetVisuals[2], "Noor"},
	} {
		expect.Equal(t, NearestFace(tt.attributes), tt.want, "%v", tt.attributes)
	}
	for value, wrong := range map[string]bool{
		`{}`: false, `{"speaking":1}`: false, `null`: false, `{"speaking":-1}`: true, `{"nonSpeaking":2}`: true, `{"speaking":"x"}`: true,
	} {
		if _, err := (&Visual{MotionControl: json.RawMessage(value)}).Motion(); (err != nil) != wrong {
			t.Errorf("%s: %v, want %s", value, err, map[bool]string{true: "an error", false: fmt.Sprint(nil)}[wrong])
		}
	}
}
