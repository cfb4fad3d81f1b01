package json

import (
	"errors"
	"testing"
)

// mine must not be null.
type mine struct{ text string }

func (m *mine) UnmarshalJSON(text []byte) error {
	if m.text = string(text); m.text == "null" {
		return errors.New("null")
	}
	return nil
}

// TestNullIsToldToTypesThatReadThemselves runs natively and in a page.
func TestNullIsToldToTypesThatReadThemselves(t *testing.T) {
	var list []mine
	if err := Unmarshal([]byte(`[1,null]`), &list); err == nil {
		t.Errorf("a list took %+v", list)
	}
	var object struct {
		Value mine
		Raw   RawMessage
		None  RawMessage
		Pnt   *mine
		N     Number
		Text  string
	}
	object.N, object.Text = "3", "a"
	if err := Unmarshal([]byte(`{"Raw":null,"Pnt":null,"N":null,"Text":null}`), &object); err != nil {
		t.Error(err)
	}
	if string(object.Raw) != "null" || object.None != nil || object.Pnt != nil || object.N != "3" || object.Text != "a" {
		t.Errorf("%+v", object)
	}
	if err := Unmarshal([]byte(`{"Value":null}`), &object); err == nil {
		t.Error("a field took null")
	}
}

func TestValidAgreesEverywhere(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: true, ` [1,"a",null] `: true, `"\ud800"`: true, `-0`: true, `1E5`: true,
		``: false, `{`: false, `01`: false, `'a'`: false, "\uFEFF1": false, "\u00a01": false, `NaN`: false, `{"a":1,}`: false,
	} {
		if Valid([]byte(text)) != want {
			t.Errorf("%q is not %v", text, want)
		}
	}
}

// TestMembersOfAMapAreInOrder of their names, so that a request is the same each time.
func TestMembersOfAMapAreInOrder(t *testing.T) {
	const want = `{"a":"1","b":{"x":true,"y":null,"z":[]},"c":2}`
	for range 20 {
		got, err := Marshal(map[string]any{"c": 2, "a": "1", "b": map[string]any{"z": []string{}, "y": nil, "x": true}})
		if err != nil || string(got) != want {
			t.Fatalf("%s, %v", got, err)
		}
	}
}
