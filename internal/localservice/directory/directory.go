// Package directory reads the attributes of users from a file, which stands for the directory of people that the
// real service asks.
package directory

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/agentruntime/agentruntime/runtime/converse"
)

// Attributes are what is known about a user, by the names of [converse.UserAttributes].
type Attributes map[string]string

// Users are attributes by the ids of users: the userId of their tokens. A nil Users has no attributes.
type Users map[string]Attributes

// idColumn is the column of a CSV file with the ids of users.
const idColumn = "user_id"

// Read reads a file. The end of its name, .json, .yaml, .yml or .csv, gives its format:
//
//   - JSON and YAML: an object with the ids of users, of which each has an object with attributes,
//   - CSV: the names of the columns in the first line, user_id and attributes, then one user in each line.
//
// The attributes are texts, and their names those of [converse.UserAttributes].
func Read(name string, data []byte) (Users, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // from a spreadsheet
	users := Users{}
	var err error
	switch path.Ext(strings.ToLower(name)) {
	case ".json":
		err = json.Unmarshal(data, &users)
	case ".yaml", ".yml":
		err = yaml.Unmarshal(data, &users)
	case ".csv":
		err = users.readCSV(data)
	default:
		err = errors.New("the name must end in .json, .yaml, .yml or .csv")
	}
	if err != nil {
		return nil, err
	}
	for id, attributes := range users {
		if id == "" {
			return nil, errors.New("the id of a user must not be empty")
		}
		for name := range attributes {
			if err := check(name); err != nil {
				return nil, fmt.Errorf("user %q: %w", id, err)
			}
		}
	}
	return users, nil
}

func check(attribute string) error {
	if known := converse.UserAttributes(); !slices.Contains(known, attribute) {
		return fmt.Errorf("unknown attribute %q, want one of %s", attribute, strings.Join(known, ", "))
	}
	return nil
}

func (u Users) readCSV(data []byte) error {
	rows, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		return err
	}
	if len(rows) == 0 || !slices.Contains(rows[0], idColumn) {
		return fmt.Errorf("the first line must name the columns, with %s among them", idColumn)
	}
	columns := rows[0]
	for _, name := range columns {
		if name != idColumn {
			if err := check(name); err != nil {
				return err
			}
		}
	}
	for _, row := range rows[1:] {
		id, attributes := "", Attributes{}
		for i, value := range row {
			switch {
			case columns[i] == idColumn:
				id = value
			case value != "":
				attributes[columns[i]] = value
			}
		}
		if _, twice := u[id]; twice {
			return fmt.Errorf("user %q is in the file twice", id)
		}
		u[id] = attributes
	}
	return nil
}

// Name returns the first and the last name of a user, or "".
func (u Users) Name(id string) string {
	return strings.TrimSpace(u[id]["first_name"] + " " + u[id]["last_name"])
}
