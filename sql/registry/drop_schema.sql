-- Drops what is left when nothing is installed; keeps the schema for a role that could not create it again.

drop table shardflake_registry._revision;

do $$
begin
  if has_database_privilege(current_database(), 'create') then
    drop schema shardflake_registry;
  end if;
end $$;
