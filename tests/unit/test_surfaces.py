"""Do facts of many files become the paths a client would call, and stop at what nothing tells?"""

from __future__ import annotations

import pytest

from contracts.extract import Body, unpack_body, unpack_facts
from contracts.extract import pack as packed
from contracts.ids import RepoPath
from services.extractor.extract import extract_file
from services.surfaces import sql
from services.surfaces.compose import compose
from services.surfaces.model import FileFacts, Surfaces


def _surfaces(files: dict[str, str], asked: list[str] | None = None) -> Surfaces:
    """Extract files, send them through the stored form, and compose them."""
    blobs, inputs = {}, []
    for path, text in files.items():
        found = extract_file(RepoPath(path), text.encode())
        assert found.extract is not None
        blobs[path] = packed(found.extract).body
        inputs.append(FileFacts(path, found.language, unpack_facts(blobs[path])))

    def body_of(path: str) -> Body | None:
        if asked is not None:
            asked.append(path)
        return unpack_body(blobs[path]) if path in blobs else None

    return compose(inputs, body_of)


def _routes(surfaces: Surfaces) -> list[str]:
    return [
        f"{each.http_method} {each.route_path} {each.confidence}" for each in surfaces.endpoints
    ]


def test_a_router_mounted_twice_has_every_path_twice() -> None:
    surfaces = _surfaces(
        {
            "app.py": "from fastapi import FastAPI\nfrom items import router\napp = FastAPI()\n"
            "app.include_router(router, prefix='/a')\napp.include_router(router, prefix='/b')\n",
            "items.py": "from fastapi import APIRouter\nrouter = APIRouter(prefix='/items')\n"
            "@router.get('/{id}')\ndef item(id): ...\n",
        }
    )

    assert _routes(surfaces) == ["GET /a/items/{id} high", "GET /b/items/{id} high"]


def test_a_router_that_mounts_itself_ends() -> None:
    surfaces = _surfaces(
        {
            "a.py": "from fastapi import APIRouter\nfrom b import b\na = APIRouter()\n"
            "a.include_router(b, prefix='/b')\n@a.get('/x')\ndef x(): ...\n",
            "b.py": "from fastapi import APIRouter\nfrom a import a\nb = APIRouter()\n"
            "b.include_router(a, prefix='/a')\n",
        }
    )

    assert len(surfaces.endpoints) == 1


def test_a_prefix_that_no_file_tells_is_said_to_be_unknown() -> None:
    surfaces = _surfaces(
        {
            "app.py": "from fastapi import FastAPI\nfrom items import router\n"
            "app = FastAPI()\napp.include_router(router, prefix=config.prefix())\n",
            "items.py": "from fastapi import APIRouter\nrouter = APIRouter()\n"
            "@router.get('/items')\ndef items(): ...\n@router.get(path_of('y'))\ndef y(): ...\n",
        }
    )

    assert _routes(surfaces) == ["GET /{?}/items low"]


def test_a_constant_is_followed_through_the_module_that_passes_it_on() -> None:
    surfaces = _surfaces(
        {
            "app/__init__.py": "from app.paths import ITEMS\n",
            "app/paths.py": "BASE = '/v1'\nITEMS = BASE + '/items'\n",
            "app/web.py": "from fastapi import FastAPI\nfrom app import ITEMS\napp = FastAPI()\n"
            "@app.get(ITEMS)\ndef items(): ...\n",
        }
    )

    assert _routes(surfaces) == ["GET /v1/items high"]


def test_constants_that_stand_for_each_other_end_as_unknown() -> None:
    surfaces = _surfaces(
        {
            "a.py": "from b import Y\nfrom fastapi import FastAPI\nX = Y\napp = FastAPI()\n"
            "@app.get(X + '/z')\ndef z(): ...\n",
            "b.py": "from a import X\nY = X\n",
        }
    )

    assert _routes(surfaces) == ["GET /{?}/z low"]


def test_a_package_s_file_without_facts_is_asked_for_only_where_a_constant_leads() -> None:
    asked: list[str] = []
    _surfaces(
        {
            "app.py": "from flask import Flask\nfrom paths import P\napp = Flask(__name__)\n"
            "@app.route(P)\ndef p(): ...\n",
            "paths.py": "P = '/p'\n",
            "other.py": "Q = '/q'\n",
        },
        asked,
    )

    assert asked == ["paths.py"]


def test_what_only_tests_declare_is_no_surface_but_stays_with_its_symbol() -> None:
    text = (
        "import os\nfrom flask import Flask\napp = Flask(__name__)\n"
        "@app.route('/fake')\ndef fake():\n    os.getenv('FAKE')\n    db.execute('SELECT a FROM fakes')\n"
    )
    surfaces = _surfaces({"tests/test_app.py": text})

    assert surfaces.endpoints == ()
    assert surfaces.config_keys == ()
    assert surfaces.tables == ()
    kinds = {fact.kind for facts in surfaces.facts_by_symbol.values() for fact in facts}
    assert kinds == {"config", "db_table"}


def test_a_table_has_one_row_with_its_entity_its_users_and_the_worst_confidence() -> None:
    surfaces = _surfaces(
        {
            "models.py": "class User(Base):\n    __tablename__ = 'users'\n",
            "jobs.py": "def purge(db):\n    db.execute('DELETE FROM Users WHERE old')\n",
        }
    )

    (table,) = surfaces.tables
    assert (table.table, table.schema, table.confidence) == ("users", "", "medium")
    assert table.entity is not None
    assert table.entity.path == "models.py"
    assert [place.path for place in table.referenced_by] == ["jobs.py"]


def test_a_route_is_a_fact_of_what_handles_it_wherever_that_is() -> None:
    surfaces = _surfaces(
        {
            "site/urls.py": "from django.urls import path\nfrom site import views\n"
            "urlpatterns = [path('x/', views.show)]\n",
            "site/views.py": "import os\ndef show(request): ...\n",
        }
    )

    (endpoint,) = surfaces.endpoints
    assert endpoint.handler.path == "site/views.py"
    (fact,) = surfaces.facts_by_symbol[endpoint.handler]
    assert (fact.kind, fact.value) == ("route", "ANY /x/")


def test_go_groups_handed_to_another_package_keep_their_prefix() -> None:
    surfaces = _surfaces(
        {
            "cmd/main.go": 'package main\nimport ("github.com/gin-gonic/gin"; "example.org/shop/api")\n'
            'func main() {\n\tr := gin.Default()\n\tv1 := r.Group("/v1")\n\tapi.Register(v1)\n}\n',
            "shop/api/api.go": 'package api\nimport "github.com/gin-gonic/gin"\n'
            'func Register(g *gin.RouterGroup) {\n\tg.GET("/items", list)\n}\nfunc list(c *gin.Context) {}\n',
        }
    )

    assert _routes(surfaces) == ["GET /v1/items high"]
    assert surfaces.endpoints[0].handler.path == "shop/api/api.go"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("SELECT a FROM public.users u JOIN orders o ON 1 = 1", ["public.users", "orders"]),
        ("insert into [dbo].[Items] (a) values (1)", ["dbo.Items"]),
        ("UPDATE only `carts` SET a = 1", ["carts"]),
        ("WITH recent AS (SELECT a FROM visits) SELECT * FROM recent", ["visits"]),
        ("SELECT * FROM information_schema.tables", []),
        ("SELECT extract(day FROM created) FROM (SELECT 1)", ["created"]),
        ("Select a file from the list", []),
        ("update the docs", []),
    ],
)
def test_sql_texts_name_their_tables_and_prose_names_none(text: str, names: list[str]) -> None:
    assert sql.tables(text) == names


def test_a_repository_that_is_itself_a_package_finds_its_own_modules() -> None:
    surfaces = _surfaces(
        {
            "app.py": "from flask import Flask\nfrom shop.items import items\n"
            "app = Flask(__name__)\napp.register_blueprint(items, url_prefix='/items')\n",
            "items/__init__.py": "from flask import Blueprint\nitems = Blueprint('items', __name__)\n"
            "@items.route('/new')\ndef new(): ...\n",
        }
    )

    assert _routes(surfaces) == ["GET /items/new high"]


def test_a_model_s_table_is_that_of_a_schema_of_the_program() -> None:
    client = (
        "export const run = async (db, prisma) => {\n  await db.user.findMany();\n"
        "  await prisma.cart.create({});\n};\n"
    )
    schema = 'model User {\n  id Int @id\n  @@map("people")\n  @@schema("crm")\n}\n'

    with_schema = _surfaces({"src/a.ts": client, "prisma/schema.prisma": schema})
    without = _surfaces({"src/a.ts": client})

    (table,) = with_schema.tables
    assert (table.schema, table.table, table.confidence) == ("crm", "people", "medium")
    assert [place.path for place in table.referenced_by] == ["src/a.ts"]
    assert without.tables == ()
    assert all(
        fact.kind != "db_table" for found in without.facts_by_symbol.values() for fact in found
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("docker-compose.yml", "services:\n  web:\n    image: php\n    class: A\\B\n"),
        (".github/workflows/routes.yml", "on: push\njobs:\n  a:\n    path: /x\n"),
        ("config/deploy.yaml", "services:\n  web:\n    image: x\nroutes:\n  a: {path: /x}\n"),
        ("config/broken.yaml", "a: [\nservices: {"),
        ("config/anchors.yaml", "services: &a\n  x: *a\n"),
        ("config/list.yaml", "- services:\n- path: /x\n  controller: A\\B::c\n"),
    ],
)
def test_yaml_of_other_programs_declares_nothing(path: str, text: str) -> None:
    surfaces = _surfaces({path: text})

    assert surfaces.endpoints == ()
    assert not surfaces.facts_by_symbol


def test_modules_that_load_each_other_end() -> None:
    lazily = (
        "import {{ Routes }} from '@angular/router';\n"
        "export const {name}: Routes = [\n  {{ path: '{name}', component: C }},\n"
        "  {{ path: 'to', loadChildren: () => import('./{other}').then((m) => m.{other}) }},\n];\n"
    )
    surfaces = _surfaces(
        {
            "a.ts": lazily.format(name="a", other="b"),
            "b.ts": lazily.format(name="b", other="a"),
        }
    )

    assert len(surfaces.endpoints) == 2
    assert all(route.http_method == "PAGE" for route in surfaces.endpoints)


def test_a_router_that_only_unreached_functions_build_keeps_the_prefix_of_the_one_that_is_called() -> (
    None
):
    routes = (
        "func (s {name}) Routes() chi.Router {{\n\tr := chi.NewRouter()\n"
        '\tr.Get("/", list)\n\treturn r\n}}\ntype {name} struct{{}}\n'
    )
    head = 'package main\nimport "github.com/go-chi/chi/v5"\n'
    surfaces = _surfaces(
        {
            "main.go": head + "func main() {\n\tr := chi.NewRouter()\n"
            '\tr.Mount("/users", users{}.Routes())\n\tr.Mount("/carts", carts{}.Routes())\n}\n',
            "users.go": head + routes.format(name="users"),
            "carts.go": head + routes.format(name="carts"),
        }
    )

    assert _routes(surfaces) == ["GET /carts/ high", "GET /users/ high"]


def test_a_function_that_only_hands_a_router_on_keeps_its_prefix() -> None:
    head = 'package web\nimport "github.com/gin-gonic/gin"\n'
    surfaces = _surfaces(
        {
            "main.go": head + 'func main() {\n\tr := gin.New()\n\tAll(r.Group("/v1"))\n}\n',
            "all.go": head + "func All(g *gin.RouterGroup) {\n\tItems(g)\n}\n",
            "items.go": head
            + 'func Items(g *gin.RouterGroup) {\n\tg.GET("/items", list)\n}\n'
            + "func list(c *gin.Context) {}\n",
        }
    )

    assert _routes(surfaces) == ["GET /v1/items high"]


def test_of_several_routers_a_module_exports_one() -> None:
    surfaces = _surfaces(
        {
            "app.js": "const express = require('express');\nconst app = express();\n"
            "app.use('/v1', require('./docs'));\n",
            "docs.js": "const { Router } = require('express');\nconst router = Router();\n"
            "const pages = Router();\nconst unused = Router();\nrouter.use('/pages', pages);\n"
            "pages.get('/:id', show);\nunused.get('/x', show);\nfunction show() {}\n"
            "module.exports = router;\n",
        }
    )

    assert _routes(surfaces) == ["GET /v1/pages/:id high", "GET /x high"]


def test_a_set_of_entities_is_the_table_that_the_model_is_configured_to() -> None:
    surfaces = _surfaces(
        {
            "Db.cs": "public class Db : DbContext {\n  public DbSet<Blog> Blogs { get; set; }\n}\n",
            "BlogMap.cs": "public class BlogMap : IEntityTypeConfiguration<Blog> {\n"
            "  public void Configure(EntityTypeBuilder<Blog> b) {\n"
            '    b.ToTable("tbl_blogs", "web");\n  }\n}\n',
        }
    )

    (table,) = surfaces.tables
    assert (table.schema, table.table) == ("web", "tbl_blogs")
    assert table.entity is not None
    assert table.entity.path == "Db.cs"


@pytest.mark.parametrize(
    ("path", "written", "route"),
    [
        ("a.py", "from flask import Flask\napp = Flask('x')\n@app.get({})\ndef a(): ...\n", r"/{a:\d+}"),
        ("a.js", "const app = require('express')();\napp.get({}, a);\n", r"/:a(\d+)"),
    ],
)  # fmt: skip
def test_a_path_is_what_its_escapes_stand_for(path: str, written: str, route: str) -> None:
    literal = "'" + route.replace("\\", "\\\\") + "'"

    surfaces = _surfaces({path: written.format(literal)})

    assert [each.route_path for each in surfaces.endpoints] == [route]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.py", "import httpx\nfrom fastapi import FastAPI\nclient = httpx.Client()\n"
         "client.get('/x')\nclient.post('/x', json={})\n{}.get('/x')\nsession.patch('/x', data)\n"),
        ("a.py", "from aiohttp import ClientSession\nasync def f(session):\n"
         "  await session.get('/x')\n  await session.post('/x', data)\n  Route('/x', f)\n"),
        ("a.ts", "import axios from 'axios';\nimport express from 'express';\n"
         "const api = axios.create();\napi.get('/x', config);\naxios.post('/x', body);\n"
         "new Map().get('/x');\nthis.http.put('/x', body);\nevents.on('PUT', '/x', f);\n"),
        ("a.go", 'package a\nimport ("net/http"; "github.com/go-chi/chi/v5")\nfunc f(c *http.Client, '
         'h http.Header) {\n\tc.Get("/x")\n\thttp.Get("/x")\n\th.Add("GET", "/x")\n'
         '\tm.Add("/x", y)\n\tm.Match("/x", y)\n}\n'),
        ("a.rs", "use axum::Router;\nfn f(client: reqwest::Client) {\n  client.get(\"/x\").send();\n"
         "  map.get(\"/x\");\n  list.merge(other);\n}\n"),
        ("A.java", "import org.springframework.web.servlet.function.ServerRequest;\nclass A {\n"
         '  void f() { rest.GET("/x"); map.get("/x"); MockMvc.perform(get("/x")); }\n}\n'),
        ("A.cs", 'class A {\n  void F(HttpClient http) { http.GetAsync("/x"); map.Map("/x", y); }\n}\n'),
        ("a.php", "<?php\nuse Illuminate\\Support\\Facades\\Http;\nHttp::get('/x', $y);\n"
         "$client->post('/x', function () {});\nCache::get('/x', 1);\n"),
        ("a.rb", "class A\n  def f\n    http.get('/x')\n    get '/x'\n  end\nend\n"),
    ],
)  # fmt: skip
def test_what_asks_another_program_serves_nothing(path: str, text: str) -> None:
    assert _surfaces({path: text}).endpoints == ()


def test_a_doubled_brace_of_a_formatted_path_is_one_of_the_path() -> None:
    surfaces = _surfaces(
        {
            "a.py": "from fastapi import FastAPI\napp = FastAPI()\nBASE = '/v1'\nKEY = 'id'\n"
            "@app.get(f'{BASE}/{{name}}/{{{KEY}}}')\ndef a(): ...\n"
        }
    )

    assert _routes(surfaces) == ["GET /v1/{name}/{id} high"]


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ('jdbc.query("SELECT id FROM audits", row);', ["audits"]),
        ('String query = "SELECT id FROM audits"; jdbc.execute(query);', ["audits"]),
        ('String query = "SELECT a FROM Audit a"; em.createQuery(query);', []),
        ('em.createQuery("SELECT a FROM Audit a");', []),
        ('em.createNativeQuery("SELECT id FROM audits");', ["audits"]),
    ],
)
def test_a_query_for_objects_names_no_table_and_one_for_rows_does(
    body: str, names: list[str]
) -> None:
    surfaces = _surfaces({"A.java": f"class A {{\n  void f() {{ {body} }}\n}}\n"})

    assert [table.table for table in surfaces.tables] == names
