package store

import (
	"context"
	"database/sql"
	"errors"
	"io"
)

// assetPart is the size of the parts of a file, in bytes.
const assetPart = 256 << 10

// AddAsset stores a file and returns its id, which is all that is needed to read it.
func (s *Store) AddAsset(ctx context.Context, mediaType string, file io.Reader) (id string, err error) {
	id = UUID()
	return id, s.tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `INSERT INTO assets (id, type) VALUES (?, ?)`, id, mediaType); err != nil {
			return err
		}
		size := 0
		for part := make([]byte, assetPart); ; {
			n, err := io.ReadFull(file, part)
			if n > 0 {
				if _, err := tx.ExecContext(ctx, `INSERT INTO asset_parts (asset_id, number, data) VALUES (?, ?, ?)`, id, size/assetPart, part[:n]); err != nil {
					return err
				}
			}
			size += n
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
				break
			}
			if err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, `UPDATE assets SET size = ? WHERE id = ?`, size, id)
		return err
	})
}

// Asset returns a file. It is read from the database while it is read from the reader,
// part by part; ctx ends that.
func (s *Store) Asset(ctx context.Context, id string) (mediaType string, file io.ReadSeeker, err error) {
	size, err := one(s.read.QueryRowContext(ctx, `SELECT type, size FROM assets WHERE id = ?`, id), func(row scanner) (size int64, err error) {
		err = row.Scan(&mediaType, &size)
		return size, err
	})
	parts := &assetParts{ctx: ctx, store: s, id: id, number: -1}
	return mediaType, io.NewSectionReader(parts, 0, size), err
}

// assetParts reads a file. It has only the latest part in memory.
type assetParts struct {
	ctx    context.Context
	store  *Store
	id     string
	number int64 // of the part
	part   []byte
}

// ReadAt implements [io.ReaderAt], for one goroutine.
func (a *assetParts) ReadAt(p []byte, at int64) (n int, err error) {
	for n < len(p) {
		if number := at / assetPart; number != a.number {
			part, err := one(a.store.read.QueryRowContext(a.ctx, `SELECT data FROM asset_parts WHERE asset_id = ? AND number = ?`, a.id, number),
				func(row scanner) (data []byte, err error) { err = row.Scan(&data); return data, err })
			if errors.Is(err, ErrNotFound) { // the end, or deleted since
				err = io.EOF
			}
			if err != nil {
				return n, err
			}
			a.number, a.part = number, part
		}
		from := int(at % assetPart)
		if from >= len(a.part) {
			return n, io.EOF
		}
		read := copy(p[n:], a.part[from:])
		n, at = n+read, at+int64(read)
	}
	return n, nil
}

// DeleteAsset removes a file, if it is there.
func (s *Store) DeleteAsset(ctx context.Context, id string) error {
	return s.removing(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM assets WHERE id = ?`, id)
		return err
	})
}
