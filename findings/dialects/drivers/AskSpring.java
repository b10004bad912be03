import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneId;
import org.springframework.scheduling.support.CronExpression;

/** Prints when Spring would run each line of the file expressions, in the form of README.md. */
class AskSpring {
    public static void main(String[] args) throws Exception {
        var instants = Files.readAllLines(Path.of(args[0], "instants"));
        for (var line : Files.readAllLines(Path.of(args[0], "expressions"))) {
            CronExpression expression;
            try {
                expression = CronExpression.parse(line);
            } catch (RuntimeException error) {
                System.out.println(line + "\trefused\t" + String.valueOf(error.getMessage()).replaceAll("\\s+", " "));
                continue;
            }
            var answers = new StringBuilder();
            for (var instant : instants) {
                var words = instant.split(" ");
                var seconds = Long.parseLong(words[0]);
                var next = expression.next(Instant.ofEpochSecond(seconds).atZone(ZoneId.of(words[1])));
                answers.append(next == null ? -1 : next.toEpochSecond() - seconds).append(' ');
            }
            System.out.println(line + "\tnext\t" + answers);
        }
    }
}
