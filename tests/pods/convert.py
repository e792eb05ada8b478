"""Converts the rendered chart to input for `podman kube play`: Pods, with their volumes as directories of this host.

    convert.py RENDERED DIRECTORY SECCOMP

SECCOMP replaces the nodes' directory of Localhost profiles. DIRECTORY/play/POD.yaml is a Pod to start, and
DIRECTORY/settings/POD.json contains the settings that runtime.py applies. Prints, as JSON, the pods with their addresses, and for
every document whether it was kept, replaced or left out. A document of an unknown kind is an error.
"""

import base64
import copy
import json
import os
import shutil
import sys

import yaml

# The ids of a pod's user namespace, which runtime.py creates.
FIRST_ID, IDS = 3_000_000, 65_536
NETWORK = "10.244.17."
REPLACED = {
    "ConfigMap": "files of its volumes",
    "Secret": "files of its volumes",
    "PersistentVolumeClaim": "an empty directory",
    "Deployment": "a Pod for each replica",
    "StatefulSet": "a Pod for each replica, by its name, with its claims",
    "Service": "lines of each pod's /etc/hosts",
}
LEFT_OUT = {
    "ServiceAccount": "no API is called here",
    "NetworkPolicy": "nothing here enforces it",
    "PodDisruptionBudget": "no node is drained here",
    "HorizontalPodAutoscaler": "nothing here scales",
}


class Cluster:
    """The rendered documents, and the output directory."""

    def __init__(self, documents, directory, seccomp):
        self.directory = directory
        self.seccomp = seccomp
        self.documents = documents
        self.pods = {}

    def find(self, kind, name):
        for document in self.documents:
            if document["kind"] == kind and document["metadata"]["name"] == name:
                return document
        raise SystemExit(f"there is no {kind} {name}, which a pod names")

    def add(self, name, template, owner=None, claims=()):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": copy.deepcopy(template["metadata"])}
        pod["metadata"]["name"] = name
        pod["spec"] = copy.deepcopy(template["spec"])
        pod["spec"]["volumes"] = pod["spec"].get("volumes", []) + [
            {"name": claim["metadata"]["name"], "emptyDir": {}} for claim in claims
        ]
        self.pods[name] = {"pod": pod, "owner": owner, "address": f"{NETWORK}{len(self.pods) + 2}"}

    def collect(self):
        for document in self.documents:
            kind, name = document["kind"], document["metadata"]["name"]
            if kind == "Pod":
                self.add(name, document)
            elif kind == "Deployment":
                for index in range(document["spec"]["replicas"]):
                    self.add(f"{name}-{index}", document["spec"]["template"])
            elif kind == "StatefulSet":
                for index in range(document["spec"]["replicas"]):
                    spec = document["spec"]
                    self.add(f"{name}-{index}", spec["template"], document, spec["volumeClaimTemplates"])

    def hosts(self):
        """Returns the names that a cluster's DNS would resolve: services, and the pods of headless services."""
        lines = ["127.0.0.1 localhost"]
        for service in self.documents:
            if service["kind"] != "Service":
                continue
            spec, meta = service["spec"], service["metadata"]
            full = f"{meta['name']}.{meta['namespace']}.svc"
            for name, pod in self.pods.items():
                labels = pod["pod"]["metadata"]["labels"]
                if spec["selector"].items() <= labels.items():
                    names = [meta["name"], f"{meta['name']}.{meta['namespace']}", full]
                    owner = pod["owner"]
                    if owner and owner["spec"]["serviceName"] == meta["name"]:
                        names = [f"{name}.{full}"]
                    lines.append(" ".join([pod["address"], *names]))
        return "\n".join(lines) + "\n"

    def files(self, source, target):
        """Writes the files of a ConfigMap or Secret: all of them, or the listed items."""
        if "configMap" in source:
            wanted, data = source["configMap"], self.find("ConfigMap", source["configMap"]["name"]).get("data") or {}
            data = {key: text.encode() for key, text in data.items()}
        else:
            wanted = source["secret"]
            data = self.find("Secret", wanted.get("secretName") or wanted["name"])["data"]
            data = {key: base64.b64decode(text) for key, text in data.items()}
        items = wanted.get("items") or [{"key": key, "path": key} for key in data]
        for item in items:
            path = os.path.join(target, item["path"])
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(data[item["key"]])

    def volume(self, volume, target, group):
        """Makes the directory of a volume, with the owners and modes that kubelet would set."""
        os.makedirs(target)
        written = 0o440
        if "configMap" in volume or "secret" in volume:
            self.files(volume, target)
        elif "projected" in volume:
            for source in volume["projected"]["sources"]:
                self.files(source, target)
        elif "persistentVolumeClaim" in volume:
            self.find("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"])
            written = None
        elif "emptyDir" in volume:
            written = None
        else:
            raise SystemExit(f"no directory can stand for the volume {volume['name']}: {sorted(volume)}")
        for path, directories, names in os.walk(target):
            for name in names:
                os.chown(os.path.join(path, name), 0, group)
                os.chmod(os.path.join(path, name), written)
            os.chown(path, 0, group)
            os.chmod(path, 0o750 if written else 0o2770)

    def copy(self, container, root, name, group):
        """Copies the files once, in place of a container that copies them as long as the pod runs."""
        if container["name"] != "certificates":
            raise SystemExit(f"{name}: nothing stands for the container {container['name']}")
        env = {one["name"]: one.get("value", name).replace("$(POD_NAME)", name) for one in container["env"]}
        places = {mount["mountPath"]: os.path.join(root, mount["name"]) for mount in container["volumeMounts"]}
        (source,) = (env["FROM"].replace(inside, place) for inside, place in places.items() if env["FROM"].startswith(inside))
        for file in os.listdir(source):
            path = os.path.join(places[env["TO"]], file)
            shutil.copyfile(os.path.join(source, file), path)
            os.chown(path, 0, group)
            os.chmod(path, 0o440)

    def write(self, name):
        entry = self.pods[name]
        pod = entry["pod"]
        spec = pod["spec"]
        container, *copiers = spec["containers"]
        spec["containers"] = [container]
        settings = {
            "hostUsers": spec.pop("hostUsers", True),
            "firstId": FIRST_ID,
            "ids": IDS,
            "pod": {**spec["securityContext"], "seccompRoot": self.seccomp},
            "container": copy.deepcopy(container["securityContext"]),
            "memory": container["resources"]["limits"]["memory"],
        }
        with open(os.path.join(self.directory, "settings", f"{name}.json"), "w") as file:
            json.dump(settings, file)

        shift = 0 if settings["hostUsers"] else FIRST_ID
        group = spec["securityContext"]["fsGroup"] + shift
        root = os.path.join(self.directory, "volumes", name)
        for volume in spec.get("volumes", []):
            self.volume(volume, os.path.join(root, volume["name"]), group)
        for copier in copiers:
            self.copy(copier, root, name, group)
        os.chmod(root, 0o755)
        with open(os.path.join(root, "hosts"), "w") as file:
            file.write(self.hosts())
        volumes, mounts = [], []
        for index, mount in enumerate([*container["volumeMounts"], {"name": "hosts", "mountPath": "/etc/hosts"}]):
            if "subPath" in mount or "subPathExpr" in mount:
                raise SystemExit(f"{name}: the mount {mount['name']} would not follow a change of its volume")
            path = os.path.join(root, mount["name"])
            kind = "File" if os.path.isfile(path.rstrip("/")) else "Directory"
            volumes.append({"name": f"v{index}", "hostPath": {"path": path.rstrip("/"), "type": kind}})
            mounts.append(
                {"name": f"v{index}", "mountPath": mount["mountPath"], "readOnly": mount.get("readOnly", False)}
            )
        spec["volumes"], container["volumeMounts"] = volumes, mounts
        # podman has no command for these. The caller starts the pod and probes it.
        for key in ("startupProbe", "livenessProbe", "readinessProbe", "lifecycle", "ports"):
            container.pop(key, None)
        container["env"] = [one for one in container.get("env", []) if "valueFrom" not in one]
        for key in ("affinity", "topologySpreadConstraints", "priorityClassName", "runtimeClassName", "serviceAccountName"):
            spec.pop(key, None)
        container["image"] = f"localhost/{container['image']}"
        # A test inspects the ended pod.
        spec["restartPolicy"] = "Never"
        with open(os.path.join(self.directory, "play", f"{name}.yaml"), "w") as file:
            yaml.safe_dump(pod, file)


def main(rendered, directory, seccomp):
    with open(rendered) as file:
        documents = [document for document in yaml.safe_load_all(file) if document]
    for part in ("play", "settings", "volumes"):
        os.makedirs(os.path.join(directory, part))
    cluster = Cluster(documents, directory, seccomp)
    cluster.collect()
    for name in cluster.pods:
        cluster.write(name)
    became = []
    for document in documents:
        kind = document["kind"]
        if kind == "Pod":
            how = "kept"
        elif kind in REPLACED:
            how = f"replaced: {REPLACED[kind]}"
        elif kind in LEFT_OUT:
            how = f"left out: {LEFT_OUT[kind]}"
        else:
            raise SystemExit(f"nobody has said what is to become of a {kind}")
        became.append({"kind": kind, "name": document["metadata"]["name"], "how": how})
    addresses = {name: pod["address"] for name, pod in cluster.pods.items()}
    json.dump({"pods": addresses, "documents": became}, sys.stdout)


main(*sys.argv[1:])
