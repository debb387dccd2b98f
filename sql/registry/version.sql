-- Records the revision, in the table that Alembic keeps for the registry.

create table if not exists shardflake_registry._revision (
  version_num varchar(32) not null,
  constraint _revision_pkc primary key (version_num)
);

insert into shardflake_registry._revision (version_num) values ('0001');
