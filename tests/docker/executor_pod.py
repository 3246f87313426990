"""Prints the pod that Spark makes for an executor on Kubernetes, from settings in JSON as its one argument. Asks no cluster."""

import json
import os
import sys

from pyspark.java_gateway import launch_gateway

os.environ["PYSPARK_SUBMIT_ARGS"] = "--driver-memory 256m pyspark-shell"
gateway = launch_gateway()
jvm = gateway.jvm
scala, spark, fabric8 = jvm.scala, jvm.org.apache.spark, jvm.io.fabric8.kubernetes


def module(name: str):
    """A Scala object."""
    return jvm.java.lang.Class.forName(f"org.apache.spark.{name}$").getField("MODULE$").get(None)


conf = spark.SparkConf(False)
for key, value in json.loads(sys.argv[1]).items():
    conf.set(key, value)
driver_name = conf.get(module("deploy.k8s.Config").KUBERNETES_DRIVER_POD_NAME()).get()  # variables filled in
metadata = fabric8.api.model.ObjectMetaBuilder().withName(driver_name).withUid("an-id").build()
driver = fabric8.api.model.PodBuilder().withMetadata(metadata).build()
security = spark.SecurityManager(conf, scala.Option.empty(), module("internal.config.package").AUTH_SECRET_FILE())
security.initializeAuth()
executor = spark.deploy.k8s.KubernetesExecutorConf(conf, "spark-0123456789abcdef", "1", scala.Option.apply(driver), 0)
profile = module("resource.ResourceProfile").getOrCreateDefaultProfile(conf)
nobody = fabric8.client.ConfigBuilder().withMasterUrl("https://127.0.0.1:1").build()
client = fabric8.client.KubernetesClientBuilder().withConfig(nobody).build()
built = spark.scheduler.cluster.k8s.KubernetesExecutorBuilder().buildFromFeatures(executor, security, client, profile)
as_json = fabric8.client.utils.Serialization.asJson
pod = json.loads(as_json(built.pod().pod()))
pod["spec"]["containers"] = [json.loads(as_json(built.pod().container()))]
print(json.dumps({"pod": pod, "resources": built.executorKubernetesResources().size()}))
client.close()
gateway.shutdown()
