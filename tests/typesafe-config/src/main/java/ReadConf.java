import com.typesafe.config.Config;
import com.typesafe.config.ConfigException;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigUtil;
import com.typesafe.config.ConfigValue;
import com.typesafe.config.ConfigValueType;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

/**
 * Parses every {@code .conf} file of a folder as an application would, and prints what it got: a line
 * {@code file TAB path TAB type TAB "value"} for each value, {@code file TAB ERROR TAB message} for a bad file.
 */
public final class ReadConf {
    public static void main(String[] arguments) throws IOException {
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        try (DirectoryStream<Path> files = Files.newDirectoryStream(Paths.get(arguments[0]), "*.conf")) {
            for (Path file : files) {
                read(file, out);
            }
        }
        out.flush();
    }

    private static void read(Path file, PrintStream out) {
        String name = file.getFileName().toString();
        try {
            Config config = ConfigFactory.parseFile(file.toFile()).resolve();
            config.entrySet().forEach(entry -> out.println(String.join(
                    "\t",
                    name,
                    entry.getKey(),
                    entry.getValue().valueType().name(),
                    ConfigUtil.quoteString(text(config, entry.getKey())))));
        } catch (ConfigException error) {
            out.println(String.join("\t", name, "ERROR", ConfigUtil.quoteString(error.getMessage())));
        }
    }

    /** As Akka reads a host: the text that was written, also of a number. */
    private static String text(Config config, String path) {
        ConfigValue value = config.getValue(path);
        return value.valueType() == ConfigValueType.LIST ? value.unwrapped().toString() : config.getString(path);
    }
}
