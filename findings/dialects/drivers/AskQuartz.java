import java.nio.file.Files;
import java.nio.file.Path;
import java.text.ParseException;
import java.util.Date;
import java.util.TimeZone;
import org.quartz.CronExpression;

/** Prints when Quartz would fire each line of the file expressions, in the form of README.md. */
class AskQuartz {
    public static void main(String[] args) throws Exception {
        var instants = Files.readAllLines(Path.of(args[0], "instants"));
        for (var line : Files.readAllLines(Path.of(args[0], "expressions"))) {
            var answers = new StringBuilder();
            try {
                for (var instant : instants) {
                    var words = instant.split(" ");
                    var seconds = Long.parseLong(words[0]);
                    var expression = new CronExpression(line);
                    expression.setTimeZone(TimeZone.getTimeZone(words[1]));
                    var next = expression.getNextValidTimeAfter(new Date(seconds * 1000));
                    answers.append(next == null ? -1 : next.getTime() / 1000 - seconds).append(' ');
                }
                System.out.println(line + "\tnext\t" + answers);
            } catch (ParseException | RuntimeException error) {
                System.out.println(line + "\trefused\t" + String.valueOf(error.getMessage()).replaceAll("\\s+", " "));
            }
        }
    }
}
