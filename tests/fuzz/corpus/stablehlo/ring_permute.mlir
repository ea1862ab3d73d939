module @tilecheck_capture attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x128xf32>) -> tensor<8x128xf32> {
    %0 = stablehlo.custom_call @tpu_custom_call(%arg0) {backend_config = "{\22a\22: 1}", kernel_name = "ring_permute", mhlo.frontend_attributes = {kernel_metadata = "{\0A\22mesh_axes\22:\22[\\\22x\\\22]\22\0A}"}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<8x128xf32>) -> tensor<8x128xf32>
    return %0 : tensor<8x128xf32>
  }
}

