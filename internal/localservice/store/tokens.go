package store

import (
	"context"
	"database/sql"
	"time"
)

// Secret returns the admin secret of a partner.
func (s *Store) Secret(ctx context.Context, partnerID int64) (string, error) {
	if secret, ok := s.secrets.Load(partnerID); ok {
		return secret.(string), nil
	}
	p, err := s.Partner(ctx, partnerID)
	if err == nil {
		s.secrets.Store(partnerID, p.Secret)
	}
	return p.Secret, err
}

// Revoke ends a token and, when group is not "", every token of that group. The
// record is kept until keep, when the longest-lived of them has expired.
func (s *Store) Revoke(ctx context.Context, partnerID int64, tokenID, group string, keep time.Time) error {
	return s.removing(ctx, func(tx *sql.Tx) error { // a token must end when there is no room, too
		if _, err := tx.ExecContext(ctx, `DELETE FROM revoked WHERE expires_at < ?`, millis(time.Now())); err != nil {
			return err
		}
		ended := map[string]string{"token": tokenID}
		if group != "" {
			ended["group"] = group
		}
		for kind, id := range ended {
			if _, err := tx.ExecContext(ctx,
				`INSERT INTO revoked (partner_id, kind, id, expires_at) VALUES (?, ?, ?, ?)
				 ON CONFLICT DO UPDATE SET expires_at = max(expires_at, excluded.expires_at)`,
				partnerID, kind, id, millis(keep)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Revoked reports whether a token, or its group, has been ended.
func (s *Store) Revoked(ctx context.Context, partnerID int64, tokenID, group string) (bool, error) {
	var ended bool
	err := s.checks.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM revoked WHERE partner_id = ? AND
		((kind = 'token' AND id = ?) OR (kind = 'group' AND id = ?)))`, partnerID, tokenID, group).Scan(&ended)
	return ended, err
}

// CountAction counts one use of a token and reports whether it is within limit.
// The count is kept until the token expires.
func (s *Store) CountAction(ctx context.Context, partnerID int64, tokenID string, limit int, expires time.Time) (bool, error) {
	var used int
	err := s.tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM token_actions WHERE expires_at < ?`, millis(time.Now())); err != nil {
			return err
		}
		// The count stops one above the limit: it can't overflow.
		return tx.QueryRowContext(ctx,
			`INSERT INTO token_actions (partner_id, token_id, used, expires_at) VALUES (?, ?, 1, ?)
			 ON CONFLICT DO UPDATE SET used = min(used + 1, ? + 1) RETURNING used`,
			partnerID, tokenID, millis(expires), limit).Scan(&used)
	})
	return used <= limit, err
}
