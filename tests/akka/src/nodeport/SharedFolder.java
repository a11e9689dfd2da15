package nodeport;

import akka.actor.ExtendedActorSystem;
import akka.discovery.Lookup;
import akka.discovery.ServiceDiscovery;
import akka.dispatch.Futures;
import com.typesafe.config.Config;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import scala.Option;
import scala.concurrent.Future;
import scala.concurrent.duration.FiniteDuration;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Members find each other by a folder that they share: each keeps a file in it, named for where its management is reached, which is
 * what the creator's file says. A member whose file gets old is gone.
 */
public final class SharedFolder extends ServiceDiscovery {
  private static final Path FOLDER = Paths.get("/members");
  private static final Duration FRESH = Duration.ofSeconds(10);

  /** Called by the discovery that the configuration names. */
  public SharedFolder(ExtendedActorSystem system) {
    Config management = system.settings().config().getConfig("akka.management.http");
    Path own = FOLDER.resolve(management.getString("hostname") + "," + management.getInt("port"));
    Executors.newSingleThreadScheduledExecutor(
            task -> {
              Thread thread = new Thread(task, "shared-folder");
              thread.setDaemon(true);
              return thread;
            })
        .scheduleAtFixedRate(() -> write(own), 0, 1, TimeUnit.SECONDS);
  }

  private static void write(Path own) {
    try {
      Files.write(own, new byte[0]);
      Files.setLastModifiedTime(own, FileTime.from(Instant.now()));
    } catch (IOException failed) {
      System.err.println("cannot write " + own + ": " + failed);
    }
  }

  @Override
  public Future<Resolved> lookup(Lookup lookup, FiniteDuration timeout) {
    List<ResolvedTarget> targets = new ArrayList<>();
    try (DirectoryStream<Path> files = Files.newDirectoryStream(FOLDER)) {
      for (Path file : files) {
        if (isFresh(file)) {
          String[] parts = file.getFileName().toString().split(",");
          targets.add(new ResolvedTarget(parts[0], Option.apply(Integer.valueOf(parts[1])), Option.empty()));
        }
      }
    } catch (IOException failed) {
      return Futures.failed(failed);
    }
    return Futures.successful(new Resolved(lookup.serviceName(), CollectionConverters.asScala(targets).toList()));
  }

  private static boolean isFresh(Path file) throws IOException {
    try {
      return Files.getLastModifiedTime(file).toInstant().isAfter(Instant.now().minus(FRESH));
    } catch (NoSuchFileException gone) {
      return false;
    }
  }
}
