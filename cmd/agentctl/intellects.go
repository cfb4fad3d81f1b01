package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/agentruntime/agentruntime/management"
)

func intellects() *cli.Command {
	return records[management.Intellect, management.IntellectFields, management.IntellectFields, int64]{
		name: "intellects", about: "configures what answers: instructions, opening phrase, secrets", one: "an intellect",
		columns: []column[management.Intellect]{
			{"INTELLECT", func(i *management.Intellect) string { return fmt.Sprint(i.ID) }},
			{"NAME", func(i *management.Intellect) string { return i.Name }},
			{"TOOLS", func(i *management.Intellect) string { return fmt.Sprint(len(i.ToolIDs)) }},
			{"KNOWLEDGE", func(i *management.Intellect) string { return strings.Trim(fmt.Sprint(i.KnowledgeIDs), "[]") }},
			{"OPENING", func(i *management.Intellect) string { return i.OpeningPhrase }},
		},
		of: func(c *call) resource[management.Intellect, management.IntellectFields, int64] {
			return c.Intellects
		},
		shown: "; of its secrets the names alone",
		flags: []cli.Flag{textFlag("name", "the intellect's `name`")},
		create: func(c *call, ctx context.Context, in management.IntellectFields) (*management.Intellect, error) {
			if name := c.text("name"); name != nil {
				in.Name = name
			}
			return c.Intellects.Add(ctx, in)
		},
	}.group(
		command("opening", "NUMBER [TEXT]", "sets the opening phrase; none restores the service's", named(func(ctx context.Context, c *call, id int64, args []string) error {
			phrase := strings.Join(args, "")
			if err := notBlank("TEXT", phrase); err != nil && len(args) > 0 {
				return err
			}
			return printDone(c, "opening phrase set", c.Intellects.SetOpeningPhrase(ctx, id, phrase))
		})),
		command("secret", "NUMBER NAME", "sets a secret, whose value is read from standard input", named(func(ctx context.Context, c *call, id int64, args []string) error {
			value, err := io.ReadAll(c.stdin)
			if err != nil {
				return err
			}
			values := map[string]string{args[0]: string(bytes.TrimRight(value, "\r\n"))}
			return printDone(c, "secret "+args[0]+" set", c.Intellects.SetSecrets(ctx, id, values))
		})),
		command("audit", "NUMBER", "looks for what does not fit together in an intellect", named(func(ctx context.Context, c *call, id int64, _ []string) error {
			findings, err := c.Intellects.Audit(ctx, id)
			if err != nil {
				return err
			}
			return printFindings(c, findings)
		})),
	)
}

// readFields reads the fields of an object, such as "an intellect", from a JSON file.
// Unknown names are refused, because they would be ignored silently. Without a path it
// reads nothing.
func readFields(path, object string, into any) error {
	if path == "" {
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var value any
	if err = cmp.Or(json.Unmarshal(text, into), json.Unmarshal(text, &value)); err == nil {
		if name := unknownField(reflect.TypeOf(into), value); name != "" {
			err = fmt.Errorf("json: unknown field %q", name)
		}
	}
	if err != nil {
		return usageError{path + " must be a JSON object with fields of " + object + ": " + err.Error()}
	}
	return nil
}

// unknownField returns a name in a JSON value that no field of its type has, "" without one.
// Unlike json.Decoder.DisallowUnknownFields, it looks into types that decode themselves, such as
// a tool's configuration.
func unknownField(of reflect.Type, value any) string {
	if of.Kind() == reflect.Pointer {
		return unknownField(of.Elem(), value)
	}
	switch v := value.(type) {
	case map[string]any:
		switch of.Kind() {
		case reflect.Map, reflect.Slice: // of servers, for example: a list here, an object by names in JSON
			for _, item := range v {
				if name := unknownField(of.Elem(), item); name != "" {
					return name
				}
			}
		case reflect.Struct:
			fields := map[string]reflect.Type{}
			for _, f := range reflect.VisibleFields(of) {
				if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
					fields[strings.ToLower(name)] = f.Type
				}
			}
			for name, item := range v {
				field, known := fields[strings.ToLower(name)]
				switch {
				case len(fields) == 0: // its form in JSON is another one
				case !known:
					return name
				default:
					if name := unknownField(field, item); name != "" {
						return name
					}
				}
			}
		}
	case []any:
		if of.Kind() == reflect.Slice {
			for _, item := range v {
				if name := unknownField(of.Elem(), item); name != "" {
					return name
				}
			}
		}
	}
	return ""
}
