//go:build js && wasm

// Command program ends in the way its first argument says.
package main

import (
	"fmt"
	"os"
	"strconv"
	"syscall/js"
	"time"
)

func main() {
	switch os.Args[1] {
	case "exit":
		code, _ := strconv.Atoi(os.Args[2])
		os.Exit(code)
	case "deadlock":
		<-make(chan int)
	case "deadlock-in-callback":
		wait := js.FuncOf(func(js.Value, []js.Value) any {
			<-make(chan int)
			return nil
		})
		js.Global().Get("Function").New("f", "f()").Invoke(wait)
	case "order":
		for i := range 200 {
			fmt.Fprintf(os.Stdout, "o%d ", i)
			fmt.Fprintf(os.Stderr, "e%d ", i)
		}
		println("builtin")
		os.Stdout.Write([]byte{0xff, 0x00, 0xc3}) // half a character
		os.Stdout.Write([]byte{0xbc, '\n'})
	case "chatter":
		for {
			fmt.Println("chatter")
			time.Sleep(time.Millisecond)
		}
	case "exit-with-timer":
		js.Global().Call("setInterval", js.FuncOf(func(js.Value, []js.Value) any { return nil }), 0)
		time.Sleep(20 * time.Millisecond)
	case "wait-for":
		fmt.Print("waiting") // no newline
		for {
			if _, err := os.Stat(os.Args[2]); err == nil {
				fmt.Println(" seen")
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}
