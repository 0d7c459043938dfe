// What resolv.conf says of the cluster: kubelet's file and odd ones, and the absolute names that a
// host may mean.
#include "comm/resolv_conf.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace annulus {
namespace {

using Names = std::vector<std::string>;

const ClusterNames kCluster{"ml", "cluster.local"};

TEST(ResolvConf, AsKubeletWritesIt) {
  const ResolvConf conf = parse_resolv_conf(
      "search ml.svc.cluster.local svc.cluster.local cluster.local\n"
      "nameserver 10.96.0.10\n"
      "options ndots:5\n");
  EXPECT_EQ(conf.search, Names({"ml.svc.cluster.local", "svc.cluster.local", "cluster.local"}));
  EXPECT_EQ(conf.nameservers, Names({"10.96.0.10"}));
  ASSERT_TRUE(conf.cluster());
  EXPECT_EQ(conf.cluster()->kubernetes_namespace, "ml");
  EXPECT_EQ(conf.cluster()->domain, "cluster.local");
}

TEST(ResolvConf, AnotherClusterDomain) {
  const auto cluster =
      parse_resolv_conf("search team-a.svc.k8s.corp.example corp.example").cluster();
  ASSERT_TRUE(cluster);
  EXPECT_EQ(cluster->kubernetes_namespace, "team-a");
  EXPECT_EQ(cluster->domain, "k8s.corp.example");
}

TEST(ResolvConf, CommentsTabsCarriageReturnsAndCase) {
  const ResolvConf conf = parse_resolv_conf(
      "# search wrong.svc.example\r\n"
      "; nameserver 1.2.3.4\r\n"
      "\r\n"
      "search\tML.svc.Cluster.LOCAL.\tsvc.cluster.local # here\r\n"
      "nameserver\tfd00::a ; the cluster's\r\n"
      "nameserver fe80::1%eth0");
  EXPECT_EQ(conf.search, Names({"ml.svc.cluster.local", "svc.cluster.local"}));
  EXPECT_EQ(conf.nameservers, Names({"fd00::a", "fe80::1%eth0"}));
  EXPECT_EQ(conf.cluster()->kubernetes_namespace, "ml");
}

TEST(ResolvConf, TheLastSearchOrDomainLineCounts) {
  EXPECT_EQ(parse_resolv_conf("search a.example b.example\nsearch c.example\n").search,
            Names({"c.example"}));
  EXPECT_EQ(parse_resolv_conf("search a.example\ndomain b.example").search, Names({"b.example"}));
  EXPECT_EQ(parse_resolv_conf("search . a.example..\n").search, Names({"a.example"}));
}

TEST(ResolvConf, OutsideAClusterThereAreNoClusterNames) {
  for (const char* text :
       {"", "search", "nameserver", "search corp.example", "search svc.cluster.local",
        "search ml.svc", "search ml.svc.", "search .svc.cluster.local", "searching ml.svc.x"})
    EXPECT_FALSE(parse_resolv_conf(text).cluster()) << text;
}

TEST(ResolvConf, TheFirstEntryOfAServiceCounts) {
  EXPECT_EQ(
      parse_resolv_conf("search corp.example a.svc.x b.svc.x").cluster()->kubernetes_namespace,
      "a");
}

TEST(ResolvConf, AFileThatIsMissingIsEmpty) {
  const auto path = std::filesystem::temp_directory_path() / "annulus-resolv-conf-test";
  std::filesystem::remove(path);
  EXPECT_TRUE(read_resolv_conf(path).search.empty());
  std::ofstream(path) << "search ml.svc.cluster.local\nnameserver 10.96.0.10\n";
  EXPECT_EQ(read_resolv_conf(path).nameservers, Names({"10.96.0.10"}));
  EXPECT_TRUE(read_resolv_conf(path).cluster());
  std::filesystem::remove(path);
}

TEST(AbsoluteNames, ABareNameIsInTheOwnNamespace) {
  EXPECT_EQ(absolute_names("cifar-worker-0", kCluster),
            Names({"cifar-worker-0.ml.svc.cluster.local", "cifar-worker-0"}));
}

TEST(AbsoluteNames, ADottedNameIsAServiceHereOrInANamespaceOrAHostElsewhere) {
  EXPECT_EQ(absolute_names("cifar-node-0-0.cifar", kCluster),
            Names({"cifar-node-0-0.cifar.ml.svc.cluster.local",
                   "cifar-node-0-0.cifar.svc.cluster.local", "cifar-node-0-0.cifar"}));
}

TEST(AbsoluteNames, AServiceNameLacksTheDomainAlone) {
  EXPECT_EQ(absolute_names("cifar-worker-0.team-a.svc", kCluster),
            Names({"cifar-worker-0.team-a.svc.cluster.local", "cifar-worker-0.team-a.svc"}));
}

TEST(AbsoluteNames, AnAbsoluteNameIsItself) {
  EXPECT_EQ(absolute_names("a.b.svc.cluster.local", kCluster), Names({"a.b.svc.cluster.local"}));
  EXPECT_EQ(absolute_names("Head.Corp.Example.", kCluster), Names({"head.corp.example"}));
}

}  // namespace
}  // namespace annulus
