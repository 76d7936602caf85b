-- Users of it.
CREATE TABLE IF NOT EXISTS "app"."users" (
  id int primary key,
  name text
);
create or replace function f(a int) returns int as $$
begin; return 1; end;
$$ language plpgsql;
CREATE UNIQUE INDEX idx ON users (name);
CREATE MATERIALIZED VIEW mv AS select 1;
create trigger t before insert on users for each row execute procedure f();
CREATE PROCEDURE [dbo].[p] AS BEGIN SELECT 1; END
