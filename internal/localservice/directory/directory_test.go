package directory

import (
	"reflect"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	want := Users{
		"sam":             {"first_name": "Sam", "company": "ACME, Inc."},
		"ann@example.com": {"first_name": "Ann", "last_name": "Bell", "title": "CTO"},
	}
	for name, text := range map[string]string{
		"users.json": `{"sam":{"first_name":"Sam","company":"ACME, Inc."},"ann@example.com":{"first_name":"Ann","last_name":"Bell","title":"CTO"}}`,
		"users.yaml": "sam: {first_name: Sam, company: 'ACME, Inc.'}\nann@example.com:\n  first_name: Ann\n  last_name: Bell\n  title: CTO\n",
		"USERS.YML":  "sam: {first_name: Sam, company: 'ACME, Inc.'}\nann@example.com: {first_name: Ann, last_name: Bell, title: CTO}\n",
		"users.csv": "\ufeffuser_id,first_name,last_name,title,company\n" +
			"sam,Sam,,,\"ACME, Inc.\"\nann@example.com,Ann,Bell,CTO,\n",
	} {
		got, err := Read(name, []byte(text))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
		if sam, ann, nobody := got.Name("sam"), got.Name("ann@example.com"), got.Name(""); sam != "Sam" || ann != "Ann Bell" || nobody != "" {
			t.Errorf("%s: the names are %q, %q, %q", name, sam, ann, nobody)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"users.txt", "", "must end in .json"},
		{"users.json", "[]", "cannot unmarshal"},
		{"users.json", `{"sam":{"shoe_size":"9"}}`, `user "sam": unknown attribute "shoe_size", want one of first_name`},
		{"users.json", `{"":{"title":"x"}}`, "must not be empty"},
		{"users.yaml", "sam: [1]", "sequence"},
		{"users.csv", "", "user_id"},
		{"users.csv", "first_name\nSam\n", "user_id"},
		{"users.csv", "user_id,nick\nsam,S\n", `unknown attribute "nick"`},
		{"users.csv", "user_id,title\nsam,a\nsam,b\n", "twice"},
		{"users.csv", "user_id,title\nsam\n", "wrong number of fields"},
		{"users.csv", "user_id,title\n,a\n", "must not be empty"},
	} {
		if _, err := Read(tt.name, []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %q: %v, want %q", tt.name, tt.text, err, tt.want)
		}
	}
}
