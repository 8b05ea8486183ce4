#!/bin/sh
# Makes the servers' role when the database is made: no superuser, so that row-level security holds for it.
set -eu
psql --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set ON_ERROR_STOP=1 --set password="$APP_PASSWORD" <<'SQL'
CREATE ROLE app LOGIN PASSWORD :'password';
SQL
