//go:build unix

package main

import (
	"os"
	"syscall"
)

const openDirectory = syscall.O_DIRECTORY

// fileStat is the part of Node's fs.Stats that Go reads.
type fileStat struct {
	Dev     uint64 `json:"dev"`
	Ino     uint64 `json:"ino"`
	Mode    uint32 `json:"mode"`
	Nlink   uint64 `json:"nlink"`
	UID     uint32 `json:"uid"`
	GID     uint32 `json:"gid"`
	Rdev    uint64 `json:"rdev"`
	Size    int64  `json:"size"`
	Blksize int64  `json:"blksize"`
	Blocks  int64  `json:"blocks"`
	Mtime   int64  `json:"mtimeMs"` // stands for atime and ctime as well
}

func stat(info os.FileInfo, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	st := info.Sys().(*syscall.Stat_t)
	return fileStat{
		Dev:     uint64(st.Dev),
		Ino:     st.Ino,
		Mode:    uint32(st.Mode),
		Nlink:   uint64(st.Nlink),
		UID:     st.Uid,
		GID:     st.Gid,
		Rdev:    uint64(st.Rdev),
		Size:    st.Size,
		Blksize: int64(st.Blksize),
		Blocks:  st.Blocks,
		Mtime:   info.ModTime().UnixMilli(),
	}, nil
}
