"""The files in deploy/ray are what Ray's own schemas, and the server, take."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ray", reason="needs the extra ray")
pytest.importorskip("ray.serve", reason="needs the extra ray-serve")
pytest.importorskip("fastapi", reason="needs the extra serve")
import jsonschema
import ray
import yaml

from longrank.errors import InputError
from longrank.service.ingress import Arguments, build

FOLDER = Path(__file__).parents[2] / "deploy/ray"
pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::ResourceWarning", "ignore::DeprecationWarning"
)


def loaded(name: str) -> Any:
    return yaml.safe_load((FOLDER / name).read_text())


def test_the_cluster_is_what_rays_launcher_takes() -> None:
    cluster = loaded("cluster.yaml")
    schema = json.loads((Path(ray.__file__).parent / "autoscaler/ray-schema.json").read_text())
    jsonschema.validate(cluster, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**cluster, "max_worker": 1}, schema)
    types = cluster["available_node_types"]
    assert cluster["head_node_type"] in types
    assert sum(one["max_workers"] for one in types.values()) <= cluster["max_workers"]


def test_the_nodes_install_extras_that_exist() -> None:
    import tomllib

    extras = tomllib.loads((FOLDER.parents[1] / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (install,) = [line for line in loaded("cluster.yaml")["setup_commands"] if "pip install" in line]
    assert set(install.split("[")[1].split("]")[0].split(",")) <= set(extras)


def test_the_application_is_what_ray_serve_takes() -> None:
    from ray.serve.schema import ServeDeploySchema

    schema = ServeDeploySchema.model_validate(loaded("serve.yaml"))
    (application,) = schema.applications
    module, name = application.import_path.split(":")
    assert getattr(import_module(module), name) is build
    arguments = Arguments.model_validate(application.args)
    deployments = {one.name for one in application.deployments}
    assert deployments == {"front", *(pipeline.partition("=")[0] for pipeline in arguments.pipelines)}


def test_the_application_has_the_deployments_that_the_file_names(tmp_path: Path) -> None:
    from longrank.index import Index

    Index.build([("a", "fox")], tmp_path / "index")
    (tmp_path / "key").write_text("secret\n")
    values = {"index": str(tmp_path / "index"), "pipelines": ["lexical", "bm25"], "key_file": str(tmp_path / "key")}
    application = build(values)
    names = {one._bound_deployment.name for one in application._bound_deployment.init_args}
    assert (application._bound_deployment.name, names) == ("front", {"lexical", "bm25"})
    with pytest.raises(InputError, match="without a key; give key_file, or insecure: true"):
        build({**values, "key_file": None})
    (tmp_path / "key").write_text("two words")
    with pytest.raises(InputError, match="visible ASCII characters"):
        build(values)
