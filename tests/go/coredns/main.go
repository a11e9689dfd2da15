// CoreDNS with the plugins that a test's Corefile names, in place of all: those of clouds are most of its modules.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

func main() {
	dnsserver.Directives = []string{"ready", "errors", "kubernetes"}
	coremain.Run()
}
