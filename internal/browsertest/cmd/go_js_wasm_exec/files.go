//go:build unix

package main

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"
)

// fileServer is the native half of the page's file system: one request is one
// call of Node's fs module, as Go's syscall package for js makes them. The page
// may do what the user may do, as a native test may, so every request carries
// the secret of the run.
type fileServer struct {
	secret string

	mu    sync.Mutex
	files map[int]*openFile
	next  int
}

type openFile struct {
	*os.File
	append bool
}

// fileArgs are the arguments of a call; each uses some of them.
type fileArgs struct {
	Path     string `json:"path"`
	To       string `json:"to"`
	FD       int    `json:"fd"`
	Flags    int    `json:"flags"`
	Mode     uint32 `json:"mode"`
	UID      int    `json:"uid"`
	GID      int    `json:"gid"`
	Length   int64  `json:"length"`
	Position *int64 `json:"position"` // nil: at the file's offset
	Atime    int64  `json:"atime"`    // seconds
	Mtime    int64  `json:"mtime"`    // seconds
}

func (a fileArgs) perm() os.FileMode { return os.FileMode(a.Mode & 0o777) }

// fileCalls are the calls that return nothing or a value for JSON.
var fileCalls = map[string]func(*fileServer, fileArgs) (any, error){
	"chmod":    func(_ *fileServer, a fileArgs) (any, error) { return nil, os.Chmod(a.Path, a.perm()) },
	"chown":    func(_ *fileServer, a fileArgs) (any, error) { return nil, os.Chown(a.Path, a.UID, a.GID) },
	"lchown":   func(_ *fileServer, a fileArgs) (any, error) { return nil, os.Lchown(a.Path, a.UID, a.GID) },
	"link":     func(_ *fileServer, a fileArgs) (any, error) { return nil, os.Link(a.Path, a.To) },
	"mkdir":    func(_ *fileServer, a fileArgs) (any, error) { return nil, os.Mkdir(a.Path, a.perm()) },
	"readlink": func(_ *fileServer, a fileArgs) (any, error) { return os.Readlink(a.Path) },
	"rename":   func(_ *fileServer, a fileArgs) (any, error) { return nil, os.Rename(a.Path, a.To) },
	"rmdir":    func(_ *fileServer, a fileArgs) (any, error) { return nil, syscall.Rmdir(a.Path) },
	"symlink":  func(_ *fileServer, a fileArgs) (any, error) { return nil, os.Symlink(a.To, a.Path) },
	"truncate": func(_ *fileServer, a fileArgs) (any, error) { return nil, os.Truncate(a.Path, a.Length) },
	"unlink":   func(_ *fileServer, a fileArgs) (any, error) { return nil, syscall.Unlink(a.Path) },
	"stat":     func(_ *fileServer, a fileArgs) (any, error) { return stat(os.Stat(a.Path)) },
	"lstat":    func(_ *fileServer, a fileArgs) (any, error) { return stat(os.Lstat(a.Path)) },
	"readdir":  func(_ *fileServer, a fileArgs) (any, error) { return readdir(a.Path) },
	"utimes": func(_ *fileServer, a fileArgs) (any, error) {
		return nil, os.Chtimes(a.Path, time.Unix(a.Atime, 0), time.Unix(a.Mtime, 0))
	},
	"open":      (*fileServer).open,
	"close":     (*fileServer).closeFile,
	"fchmod":    onFile(func(f *openFile, a fileArgs) (any, error) { return nil, f.Chmod(a.perm()) }),
	"fchown":    onFile(func(f *openFile, a fileArgs) (any, error) { return nil, f.Chown(a.UID, a.GID) }),
	"fstat":     onFile(func(f *openFile, _ fileArgs) (any, error) { return stat(f.Stat()) }),
	"fsync":     onFile(func(f *openFile, _ fileArgs) (any, error) { return nil, f.Sync() }),
	"ftruncate": onFile(func(f *openFile, a fileArgs) (any, error) { return nil, f.Truncate(a.Length) }),
}

func newFileServer(secret string) *fileServer {
	const firstFree = 3 // after standard input, output and error
	return &fileServer{secret: secret, files: map[int]*openFile{}, next: firstFree}
}

func (s *fileServer) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		f.Close()
	}
}

func (s *fileServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte(s.secret)) != 1 {
		http.Error(w, "wrong secret", http.StatusForbidden)
		return
	}
	var a fileArgs
	if err := json.Unmarshal([]byte(r.FormValue("args")), &a); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	data, err := s.call(r.PathValue("op"), a, r.Body)
	if err != nil {
		w.Header().Set("Error-Code", errorCode(err))
		return
	}
	w.Write(data)
}

// call runs one call and returns the body of the answer: the bytes read, or JSON.
func (s *fileServer) call(op string, a fileArgs, body io.Reader) ([]byte, error) {
	switch op {
	case "read":
		return s.read(a)
	case "write":
		data, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		n, err := s.write(a, data)
		if err != nil {
			return nil, err
		}
		return json.Marshal(n)
	}
	f, ok := fileCalls[op]
	if !ok {
		return nil, syscall.ENOSYS
	}
	value, err := f(s, a)
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

func (s *fileServer) open(a fileArgs) (any, error) {
	f, err := os.OpenFile(a.Path, a.Flags, a.perm())
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fd := s.next
	s.next++
	s.files[fd] = &openFile{File: f, append: a.Flags&os.O_APPEND != 0}
	return fd, nil
}

func (s *fileServer) file(fd int) (*openFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.files[fd]
	if !ok {
		return nil, syscall.EBADF
	}
	return f, nil
}

func (s *fileServer) closeFile(a fileArgs) (any, error) {
	f, err := s.file(a.FD)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	delete(s.files, a.FD)
	s.mu.Unlock()
	return nil, f.Close()
}

// maxRead bounds one read; a reader that wants more asks again.
const maxRead = 16 << 20

func (s *fileServer) read(a fileArgs) ([]byte, error) {
	f, err := s.file(a.FD)
	if err != nil {
		return nil, err
	}
	buf := make([]byte, min(max(a.Length, 0), maxRead))
	var n int
	if a.Position == nil {
		n, err = f.Read(buf)
	} else {
		n, err = f.ReadAt(buf, *a.Position)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return buf[:n], nil
}

func (s *fileServer) write(a fileArgs, data []byte) (int, error) {
	f, err := s.file(a.FD)
	if err != nil {
		return 0, err
	}
	// The kernel ignores the position of a file open for appending; os.File
	// refuses one.
	if a.Position == nil || f.append {
		return f.Write(data)
	}
	return f.WriteAt(data, *a.Position)
}

func readdir(path string) (any, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names, nil
}

// onFile makes a call of f on the file that the arguments name.
func onFile(f func(*openFile, fileArgs) (any, error)) func(*fileServer, fileArgs) (any, error) {
	return func(s *fileServer, a fileArgs) (any, error) {
		file, err := s.file(a.FD)
		if err != nil {
			return nil, err
		}
		return f(file, a)
	}
}

// errorNames are Node's codes for the errors that Go programs tell apart.
var errorNames = map[syscall.Errno]string{
	syscall.EACCES:       "EACCES",
	syscall.EBADF:        "EBADF",
	syscall.EBUSY:        "EBUSY",
	syscall.EEXIST:       "EEXIST",
	syscall.EFBIG:        "EFBIG",
	syscall.EINVAL:       "EINVAL",
	syscall.EISDIR:       "EISDIR",
	syscall.ELOOP:        "ELOOP",
	syscall.EMFILE:       "EMFILE",
	syscall.ENAMETOOLONG: "ENAMETOOLONG",
	syscall.ENOENT:       "ENOENT",
	syscall.ENOSPC:       "ENOSPC",
	syscall.ENOSYS:       "ENOSYS",
	syscall.ENOTDIR:      "ENOTDIR",
	syscall.ENOTEMPTY:    "ENOTEMPTY",
	syscall.EPERM:        "EPERM",
	syscall.EROFS:        "EROFS",
	syscall.ESPIPE:       "ESPIPE",
	syscall.EXDEV:        "EXDEV",
}

func errorCode(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		if name, ok := errorNames[errno]; ok {
			return name
		}
	}
	return "EIO"
}

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
