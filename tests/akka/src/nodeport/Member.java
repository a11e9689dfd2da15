package nodeport;

import akka.actor.ActorSystem;

/** A member of a cluster. All that it does is in its configuration: the extension ClusterBootstrap, when it is listed there. */
public final class Member {
  private Member() {}

  /** Joins until it is told to leave. */
  public static void main(String[] arguments) {
    ActorSystem.create("ipf");
  }
}
