"""A command with a schema in a registry, as authors write it."""

EXPORT_STEPS = """
steps:
  - id: "trigger-batch-export"
    type: "KAFKA_COMMAND"
    config:
      commandTopic: "export-commands"
      replyTopic: "export-replies"
      command:
        type: "EXPORT_DATA"
        payload:
          entityType: "${workflow.context.entityType}"
          filters: "${workflow.context.filters}"
          format: "CSV"
      timeout: 300s  # 5 minutes
      schema:
        type: "AVRO"
        registry: "http://schema-registry:8081"
        subject: "export-command-value"
      dlq:
        topic: "export-commands-dlq"
        onTimeout: true
        onError: true
      outputMapping:
        exportId: "$.exportId"
        downloadUrl: "$.downloadUrl"
"""
