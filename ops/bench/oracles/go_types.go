// Which declaration does the Go type checker give each name? One line a use: path, line, byte
// column, then path, line and name of the declaration; "-" when it lies outside the tree.
package main

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	root := os.Args[1]
	set := token.NewFileSet()
	folders := map[string]bool{}
	filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			folders[filepath.Dir(path)] = true
		}
		return nil
	})
	source := importer.ForCompiler(set, "source", nil)
	for folder := range folders {
		packages, _ := parser.ParseDir(set, folder, nil, 0)
		for _, found := range packages {
			files := []*ast.File{}
			for _, file := range found.Files {
				files = append(files, file)
			}
			info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
			config := types.Config{Importer: source, Error: func(error) {}, FakeImportC: true}
			config.Check(folder, set, files, info)
			for name, object := range info.Uses {
				if _, ok := object.(*types.PkgName); ok {
					continue
				}
				at := set.Position(name.Pos())
				where, err := filepath.Rel(root, at.Filename)
				if err != nil {
					continue
				}
				declared := set.Position(object.Pos())
				place, err := filepath.Rel(root, declared.Filename)
				if !declared.IsValid() || err != nil || strings.HasPrefix(place, "..") {
					fmt.Printf("%s\t%d\t%d\t-\t0\t%s\n", where, at.Line, at.Column-1, object.Name())
					continue
				}
				fmt.Printf("%s\t%d\t%d\t%s\t%d\t%s\n", where, at.Line, at.Column-1, place, declared.Line, object.Name())
			}
		}
	}
}
