"""A small server that does as the DAGs of Airflow do."""

import contextlib
import datetime as dt
import threading
from collections.abc import Iterator

import uvicorn
from fastapi import FastAPI, HTTPException, Request

from tests.serving import world
from tests.support.dag_params import mistakes
from tests.support.waiting import until

AT = dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)


class Airflow:
    """A run is queued, then running, then what `ends` is; a statement that succeeds is in the table. A run of a paused DAG
    is refused, because it would stay in the queue."""

    def __init__(self, lake, feed):
        self.app, self.came, self.looks, self.ends, self._lake, self._feed = FastAPI(), [], 0, "success", lake, feed
        self.unpaused: set[str] = set()
        self.app.post("/auth/token")(lambda: {"access_token": "t"})
        self.app.post("/api/v2/dags/{dag}/dagRuns")(self.begin)
        self.app.get("/api/v2/dags/~/dagRuns/{run}/hitlDetails")(self.questions)
        self.app.patch("/api/v2/dags/{dag}/dagRuns/{run}/taskInstances/approve/-1/hitlDetails")(self.change)
        self.app.patch("/api/v2/dags/{dag}")(self.pause)
        self.app.get("/api/v2/dags/{dag}/dagRuns")(lambda dag: {"dag_runs": [{"dag_run_id": "supervised"}]})
        self.app.patch("/api/v2/dags/{dag}/dagRuns/{run}")(self.change)
        self.app.get("/api/v2/dags/{dag}/dagRuns/{run}")(self.look)

    async def begin(self, request: Request, dag: str) -> dict:
        conf = (await request.json())["conf"]
        if dag not in self.unpaused:
            raise HTTPException(400, f"{dag} is paused")
        if wrong := mistakes(dag, conf):
            raise HTTPException(400, "; ".join(wrong))
        self.came.append((dag, conf))
        self.looks = 0
        return {"dag_run_id": f"manual__{len(self.came)}", "state": "queued"}

    async def pause(self, request: Request, dag: str) -> dict:
        if dag.startswith("supervise_"):
            return await self.change(request, dag)
        assert await request.json() == {"is_paused": False}
        self.unpaused.add(dag)
        return {}

    def questions(self, run: str) -> dict:
        asking = {"dag_id": f"nightly_baseline.{self._feed.name}", "task_id": "approve", "map_index": -1}
        return {"hitl_details": [{"task_instance": asking, "created_at": "2026-07-01T12:00:00Z"}] if run == "night-2" else []}

    async def change(self, request: Request, dag: str) -> dict:
        self.came.append((dag, await request.json()))
        self.looks = 2
        return {}

    async def look(self, dag: str, run: str) -> dict:
        self.looks += 1
        if self.looks == 2 and self.ends == "success" and dag.startswith("judge_incident"):
            self._keep(self.came[-1][1])
        return {"dag_run_id": run, "state": "running" if self.looks < 2 else self.ends}

    def _keep(self, conf: dict) -> None:
        said = {"By": f"{conf['user']}, by admin", "Reason": conf["reason"]}
        number = len(self.came)
        if conf["verdict"] == "take_back":
            world.say(self._lake, self._feed, number, "take_back", TakesBack=conf["statement"], **said)
        elif conf["verdict"] != "exclude":
            world.say(self._lake, self._feed, number, conf["verdict"], IncidentId=conf["incident"], **said)
        else:
            start, end = (dt.datetime.fromisoformat(conf[name]) for name in ("from", "to"))
            said |= {"ServiceName": conf.get("service"), "End": end}
            world.say(self._lake, self._feed, number, "exclude", start, **said)


@contextlib.contextmanager
def listening(app: FastAPI) -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        until("the server listens", lambda: server.started, pause=0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(15)
