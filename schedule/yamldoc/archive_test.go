package yamldoc

import (
	"fmt"
	"testing"
)

func TestPackAndUnpack(t *testing.T) {
	sources := []*Source{
		{Name: "schedule.yaml", Data: []byte("a: b\n")},
		{Name: "empty"},
		{Name: "d/\"odd\"\nname \xff", Data: []byte("# file \"schedule.yaml\", 5 bytes\r\n")},
		{Name: "/etc/no line end", Data: []byte("x")},
	}
	archive := Pack(sources)
	unpacked, err := Unpack(archive)
	if err != nil || len(unpacked) != len(sources) {
		t.Fatalf("%d files, %v in\n%s", len(unpacked), err, archive)
	}
	for i, src := range unpacked {
		if src.Name != sources[i].Name || string(src.Data) != string(sources[i].Data) {
			t.Errorf("%q holds %q, want %q with %q", src.Name, src.Data, sources[i].Name, sources[i].Data)
		}
	}
	if Digest(unpacked) != Digest(sources) {
		t.Error("the digest is another one")
	}
}

// If an archive is cut off anywhere, Unpack either finds that or returns whole files.
func TestUnpackOfWhatWasCutOff(t *testing.T) {
	archive := Pack([]*Source{{Name: "a", Data: []byte("one\n")},
		{Name: "b", Data: []byte("# file \"c\", 0 bytes\n\n")}})
	whole := ""
	for end := range len(archive) + 1 {
		if sources, err := Unpack(archive[:end]); err == nil {
			whole += fmt.Sprint(len(sources), " ")
		}
	}
	if whole != "1 2 " {
		t.Errorf("whole are %s", whole)
	}
}
