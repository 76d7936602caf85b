// Which declaration does javac give each name? One line a use: path, line, byte column, then path,
// line and name of the declaration; "-" when it lies outside the tree. java JavaTypes.java TREE

import com.sun.source.tree.*;
import com.sun.source.util.*;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.regex.*;
import javax.lang.model.element.*;
import javax.tools.*;

public class JavaTypes {
    private static final Set<ElementKind> LOCALS = EnumSet.of(
            ElementKind.LOCAL_VARIABLE, ElementKind.PARAMETER, ElementKind.EXCEPTION_PARAMETER,
            ElementKind.RESOURCE_VARIABLE, ElementKind.BINDING_VARIABLE, ElementKind.TYPE_PARAMETER,
            ElementKind.PACKAGE);
    private static final Set<String> WORDS = Set.of("this", "super", "class");

    private static Path root;
    private static Trees trees;
    private static SourcePositions places;

    public static void main(String[] arguments) throws IOException {
        root = Paths.get(arguments[0]).toAbsolutePath();
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null);
        List<Path> sources = new ArrayList<>();
        try (var found = Files.walk(root)) {
            found.filter(path -> path.toString().endsWith(".java"))
                    .filter(path -> !path.getFileName().toString().contains("-info"))
                    .forEach(sources::add);
        }
        List<String> options = List.of("-proc:none", "-XDshould-stop.ifError=FLOW");
        JavacTask task = (JavacTask) compiler.getTask(
                null, files, problem -> {}, options, null, files.getJavaFileObjectsFromPaths(sources));
        Iterable<? extends CompilationUnitTree> units = task.parse();
        task.analyze();
        trees = Trees.instance(task);
        places = trees.getSourcePositions();
        for (CompilationUnitTree unit : units) {
            new Names(unit).scan(unit, null);
        }
    }

    private static String relative(CompilationUnitTree unit) {
        return root.relativize(Paths.get(unit.getSourceFile().toUri())).toString();
    }

    private static String text(CompilationUnitTree unit) throws IOException {
        return unit.getSourceFile().getCharContent(true).toString();
    }

    private static class Names extends TreePathScanner<Void, Void> {
        private final CompilationUnitTree unit;
        private final String text;

        Names(CompilationUnitTree unit) throws IOException {
            this.unit = unit;
            text = text(unit);
        }

        @Override
        public Void visitIdentifier(IdentifierTree node, Void nothing) {
            tell(node.getName().toString(), places.getStartPosition(unit, node));
            return null;
        }

        @Override
        public Void visitMemberSelect(MemberSelectTree node, Void nothing) {
            long end = places.getEndPosition(unit, node.getExpression());
            String name = node.getIdentifier().toString();
            int at = end < 0 ? -1 : text.indexOf(name, (int) end);
            tell(name, at - end < 200 ? at : -1);
            return super.visitMemberSelect(node, nothing);
        }

        private void tell(String name, long at) {
            Element element = trees.getElement(getCurrentPath());
            if (at < 0 || element == null || WORDS.contains(name) || LOCALS.contains(element.getKind())) {
                return;
            }
            if (element.getKind() == ElementKind.CONSTRUCTOR) {
                element = element.getEnclosingElement();
            }
            long line = unit.getLineMap().getLineNumber(at);
            int start = text.lastIndexOf('\n', (int) at - 1) + 1;
            int column = text.substring(start, (int) at).getBytes(StandardCharsets.UTF_8).length;
            System.out.println(relative(unit) + "\t" + line + "\t" + column + "\t" + declared(element));
        }

        private String declared(Element element) {
            String name = element.getSimpleName().toString();
            TreePath path = trees.getPath(element);
            if (path == null) {
                return "-\t0\t" + name;
            }
            CompilationUnitTree other = path.getCompilationUnit();
            Tree leaf = path.getLeaf();
            Tree modifiers = leaf instanceof MethodTree ? ((MethodTree) leaf).getModifiers()
                    : leaf instanceof ClassTree ? ((ClassTree) leaf).getModifiers()
                    : leaf instanceof VariableTree ? ((VariableTree) leaf).getModifiers() : leaf;
            long begin = places.getStartPosition(other, leaf);
            long from = modifiers == leaf ? begin : places.getEndPosition(other, modifiers);
            try {
                Matcher found = Pattern.compile("\\b" + Pattern.quote(name) + "\\b").matcher(text(other));
                if (found.find((int) Math.max(0, Math.max(begin, from)))) {
                    begin = found.start();
                }
            } catch (IOException unreadable) {
                return "-\t0\t" + name;
            }
            return relative(other) + "\t" + other.getLineMap().getLineNumber(begin) + "\t" + name;
        }
    }
}
