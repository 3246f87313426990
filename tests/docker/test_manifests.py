"""The manifests for Kubernetes, without a cluster: by Kubernetes' schemas, by what a pod may do, by what refers to what."""

import os
import re
import shutil
import subprocess
from urllib.parse import urlsplit

import kubernetes_validate
import pytest
import yaml

from tests.docker.compose import SERVICES, stages
from tests.docker.manifests import (
    DRIVERS,
    EXECUTOR,
    FILES,
    FOLDER,
    KUBERNETES,
    KUSTOMIZATION,
    OBJECTS,
    PODS,
    REFERENCE,
    SERVERS,
    WORKLOADS,
    claims,
    container,
    environment,
    of_kind,
    printed_for,
    secrets_of,
)
from tests.docker.spark_settings import CONFS, settings

ALL_PODS = PODS | {"executor": EXECUTOR}
every_pod = pytest.mark.parametrize("name", ALL_PODS)


def identified(found: dict) -> str:
    return f"{found['kind']}-{found.get('metadata', {}).get('name', 'executor')}"


@pytest.mark.parametrize("found", [*OBJECTS, EXECUTOR], ids=identified)
def test_a_manifest_is_as_kubernetes_wants_it(found):
    kubernetes_validate.validate(found, KUBERNETES, strict=True)


def test_the_printed_secrets_are_as_kubernetes_wants_them(folder):
    for found in yaml.safe_load_all(printed_for(folder)):
        kubernetes_validate.validate(found, KUBERNETES, strict=True)
        assert found["metadata"]["namespace"] == KUSTOMIZATION["namespace"]


def test_the_kustomization_names_exactly_the_files_that_are_there():
    assert sorted(KUSTOMIZATION["resources"]) == [file.name for file in FILES]
    assert len({identified(found) for found in OBJECTS}) == len(OBJECTS)
    (generated,) = KUSTOMIZATION["configMapGenerator"]
    assert sorted(generated["files"]) == sorted(f"spark/{file.name}" for file in (FOLDER / "spark").iterdir())
    assert KUSTOMIZATION["generatorOptions"] == {"disableNameSuffixHash": True}
    assert KUSTOMIZATION["namespace"] in of_kind("Namespace")
    others = {"kustomization.yaml", "entrypoint.sh", "secrets.sh", "spark", *(file.name for file in FILES)}
    assert {file.name for file in FOLDER.iterdir()} == others


@pytest.mark.skipif(not shutil.which("kubectl"), reason="there is no kubectl")
def test_kustomize_builds_it(tmp_path):
    command = ["kubectl", "kustomize", FOLDER]
    ran = subprocess.run(command, env=os.environ | {"HOME": str(tmp_path)}, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    built = list(yaml.safe_load_all(ran.stdout))
    assert len(built) == len(OBJECTS) + 1
    for found in built:
        kubernetes_validate.validate(found, KUBERNETES, strict=True)
        assert found["kind"] == "Namespace" or found["metadata"]["namespace"] == "sundial"
    (spark,) = [found for found in built if found["metadata"]["name"] == "spark"]
    assert spark["data"] == {file.name: file.read_text() for file in (FOLDER / "spark").iterdir()}
    images = re.findall(r"image: (\S+)", ran.stdout)
    assert {image.split("/")[0] for image in images} == {"registry.example"}


def test_all_parts_are_there():
    left_out = {"init-kafka", "sources", "postgres", "prometheus", "grafana"}  # taken as given, or run from elsewhere
    left_out.add("alerts")  # docs/deployment.md says how to run it
    left_out |= {name for name in SERVICES if name.startswith(("kafka-", "registry-", "spark-master", "spark-worker-"))}
    assert SERVICES.keys() - left_out == WORKLOADS.keys()
    assert {name for name, found in WORKLOADS.items() if found["kind"] == "StatefulSet"} == DRIVERS
    assert WORKLOADS["init"]["kind"] == "Job"
    assert WORKLOADS["airflow-triggerer"]["spec"]["replicas"] == 1


@every_pod
def test_a_pod_may_do_little(name):
    spec = ALL_PODS[name]["spec"]
    assert not {"hostNetwork", "hostPID", "hostIPC", "hostUsers", "hostAliases"} & spec.keys()
    uid, gid = (int(stages()["sundial"].of("ARG")[position].split("=")[1]) for position in (0, 1))
    assert spec["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": uid,  # the image's, as Java asks who it is
        "runAsGroup": gid,
        "fsGroup": gid,
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    for each in spec["containers"] + spec.get("initContainers", []):
        assert each["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"name": "tmp", "mountPath": "/tmp"} in each["volumeMounts"]
    assert all({"emptyDir", "configMap", "secret", "persistentVolumeClaim"} & volume.keys() for volume in spec["volumes"])


@every_pod
def test_only_a_pod_with_a_driver_talks_to_kubernetes(name):
    spec = ALL_PODS[name]["spec"]
    assert spec["automountServiceAccountToken"] is (name in DRIVERS)
    assert spec["serviceAccountName"] == ("sundial-driver" if name in DRIVERS else "sundial")
    assert spec["enableServiceLinks"] is False, "a variable for each Service would be among its settings"
    assert of_kind("ServiceAccount")[spec["serviceAccountName"]]["automountServiceAccountToken"] is False


def test_a_driver_may_handle_pods_and_nothing_else():
    """Spark asks for more where it makes configmaps, services and claims; each of them is turned off."""
    (role,), (binding,) = of_kind("Role").values(), of_kind("RoleBinding").values()
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "delete", "deletecollection", "get", "list", "watch"]}
    ]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "sundial-driver", "namespace": "sundial"}]
    spark = settings(CONFS["kubernetes"])
    assert spark["spark.kubernetes.executor.disableConfigMap"] == "true"
    assert spark["spark.kubernetes.driver.service.deleteOnTermination"] == "false"
    assert spark["spark.kubernetes.driver.ownPersistentVolumeClaim"] == "false"
    assert not {found["kind"] for found in OBJECTS} & {"ClusterRole", "ClusterRoleBinding"}


def test_the_cluster_refuses_what_may_more():
    labels = of_kind("Namespace")["sundial"]["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"
    (policy,) = of_kind("NetworkPolicy").values()
    assert policy["spec"] == {
        "podSelector": {},
        "policyTypes": ["Ingress"],
        "ingress": [{"from": [{"podSelector": {}}]}],
    }


def test_services_lead_to_their_pods():
    services = of_kind("Service")
    assert services.keys() == DRIVERS | SERVERS.keys()
    for name, service in services.items():
        (pod,) = [pod for pod in PODS.values() if service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()]
        assert pod is PODS[name]
        assert WORKLOADS[name]["spec"]["selector"]["matchLabels"] == service["spec"]["selector"]
        if name in DRIVERS:
            assert WORKLOADS[name]["spec"]["serviceName"] == name
            assert service["spec"]["clusterIP"] == "None"
            assert service["spec"]["publishNotReadyAddresses"] is True
        else:
            (port,) = service["spec"]["ports"]
            assert (port["port"], port["targetPort"]) == (SERVERS[name], "http")
            assert container(name)["livenessProbe"]["tcpSocket"]["port"] == "http"
    url = urlsplit(of_kind("ConfigMap")["airflow"]["data"]["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"])
    assert url.port == SERVERS[url.hostname]


@every_pod
def test_what_a_pod_refers_to_is_there(name, folder):
    spec = ALL_PODS[name]["spec"]
    maps = {*of_kind("ConfigMap"), *(each["name"] for each in KUSTOMIZATION["configMapGenerator"]), "kafka-ca"}
    assert {volume["configMap"]["name"] for volume in spec["volumes"] if "configMap" in volume} <= maps
    assert set(claims(ALL_PODS[name]).values()) <= of_kind("PersistentVolumeClaim").keys()
    for each in spec["containers"] + spec.get("initContainers", []):
        assert {mount["name"] for mount in each["volumeMounts"]} <= {volume["name"] for volume in spec["volumes"]}
        seen = environment(each, secrets_of(folder))  # a name that is not there raises
        assert {variable["name"] for variable in each.get("env", [])} <= seen.keys()
        assert not [name for name, value in seen.items() if REFERENCE.search(value)], "the kubelet leaves such as they are"


def test_what_shares_the_streams_is_on_one_node():
    """Their locks are the kernel's."""
    modes = {name: claim["spec"]["accessModes"] for name, claim in of_kind("PersistentVolumeClaim").items()}
    assert modes.pop("streams") == ["ReadWriteOnce"]
    assert set(map(tuple, modes.values())) == {("ReadWriteMany",)}
    for name, pod in PODS.items():
        shares = "streams" in claims(pod).values()
        assert shares is (name in DRIVERS | {"serving"})
        assert ("sundial-streams" in pod["metadata"]["labels"]) is shares
        if shares:
            (rule,) = pod["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
            assert rule["topologyKey"] == "kubernetes.io/hostname"
            assert rule["labelSelector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()


def test_addresses_are_plainly_to_be_filled_in():
    for value in of_kind("ConfigMap")["addresses"]["data"].values():
        for address in value.split(","):
            host = urlsplit(address if "://" in address else f"//{address}").hostname
            assert host.endswith(".example"), address
    assert of_kind("ConfigMap")["addresses"]["data"].keys() == {
        "SUNDIAL_KAFKA",
        "SUNDIAL_REGISTRY",
        "AIRFLOW_DATABASE",
        "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
    }


def test_images_are_pinned_and_the_same_everywhere():
    names = {each["name"]: f"{each['newName']}:{each['newTag']}" for each in KUSTOMIZATION["images"]}
    assert names.keys() == {"sundial", "sundial-kubernetes"} <= stages().keys()
    for name, target in names.items():
        assert re.fullmatch(rf"registry\.example/{name}:\d+\.\d+\.\d+", target)
    for pod in PODS.values():
        for each in pod["spec"]["containers"] + pod["spec"].get("initContainers", []):
            image, version = each["image"].split(":")
            assert names[image].endswith(f"{image}:{version}")
    assert settings(CONFS["kubernetes"])["spark.kubernetes.container.image"] == names["sundial-kubernetes"]
