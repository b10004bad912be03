// Sbom prints a CycloneDX document of a Go binary: what the go command wrote into it of its
// modules.
//
//	sbom BINARY VERSION
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

type (
	bom struct {
		Format       string       `json:"bomFormat"`
		SpecVersion  string       `json:"specVersion"`
		Version      int          `json:"version"`
		Metadata     metadata     `json:"metadata"`
		Components   []component  `json:"components"`
		Dependencies []dependency `json:"dependencies"`
	}
	metadata struct {
		Timestamp string    `json:"timestamp,omitempty"`
		Component component `json:"component"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		PURL       string     `json:"purl,omitempty"`
		Properties []property `json:"properties,omitempty"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	dependency struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn"`
	}
)

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: sbom BINARY VERSION")
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return err
	}
	e := json.NewEncoder(os.Stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(of(info, args[1]))
}

// of lists the modules that are linked, and the standard library as one more.
func of(info *buildinfo.BuildInfo, version string) bom {
	b := bom{Format: "CycloneDX", SpecVersion: "1.5", Version: 1}
	b.Metadata.Component = component{Type: "application", Ref: "sched", Name: "sched", Version: version}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.time":
			b.Metadata.Timestamp = s.Value
		case s.Key == "vcs.revision" || strings.HasPrefix(s.Key, "GO") || s.Key == "CGO_ENABLED":
			b.Metadata.Component.Properties = append(b.Metadata.Component.Properties, property{"go:" + s.Key, s.Value})
		}
	}
	b.Components = append(b.Components, component{
		Type: "library", Ref: "std", Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"),
		PURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"),
	})
	for _, m := range info.Deps {
		b.Components = append(b.Components, library(m))
	}
	root := dependency{Ref: "sched"}
	for _, c := range b.Components {
		root.DependsOn = append(root.DependsOn, c.Ref)
	}
	b.Dependencies = []dependency{root}
	return b
}

// library is a module, or what took its place.
func library(m *debug.Module) component {
	if m.Replace != nil {
		m = m.Replace
	}
	ref := m.Path + "@" + m.Version
	return component{
		Type: "library", Ref: ref, Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + ref,
		Properties: []property{{"go:sum", m.Sum}},
	}
}
