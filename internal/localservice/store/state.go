package store

import (
	"context"
	"database/sql"
	"encoding/json"
)

// ThreadState is what is stored for a thread's agent besides the messages.
type ThreadState struct {
	// Started are the results of the tools that ran when the thread began, in order.
	Started []ToolResult `json:"started,omitempty"`
	// Skills are the names of the skills that stay loaded for the rest of the thread.
	Skills []string `json:"skills,omitempty"`
	// Vars are the variables that tools have set ([ToolConfig] VariablesMapping).
	Vars map[string]any `json:"vars,omitempty"`
}

// ToolResult is what a tool returned, a JSON object.
type ToolResult struct {
	Tool   string          `json:"tool"`
	Result json.RawMessage `json:"result"`
}

// ThreadState returns the state of a thread that was not deleted, whoever owns it.
func (s *Store) ThreadState(ctx context.Context, threadID string) (ThreadState, error) {
	return threadState(ctx, s.read, threadID)
}

func threadState(ctx context.Context, db querier, threadID string) (ThreadState, error) {
	return one(db.QueryRowContext(ctx, `SELECT state FROM threads WHERE id = ? AND deleted_at IS NULL`, threadID), func(row scanner) (state ThreadState, err error) {
		var text []byte
		if err := row.Scan(&text); err != nil {
			return state, err
		}
		return state, json.Unmarshal(text, &state)
	})
}

// ChangeThreadState changes the state of a thread, but not its UpdatedAt.
func (s *Store) ChangeThreadState(ctx context.Context, threadID string, change func(*ThreadState)) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		state, err := threadState(ctx, tx, threadID)
		if err != nil {
			return err
		}
		change(&state)
		text, err := json.Marshal(state)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE threads SET state = ? WHERE id = ?`, string(text), threadID)
		return err
	})
}
